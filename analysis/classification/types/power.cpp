#include "classification/types/power.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace headscope {

double test_power(double effect, double standard_error, double level, double n_document) {
  if (!(standard_error > 0) || !(n_document >= 2)) return arma::datum::nan;
  const boost::math::students_t_distribution<> t(n_document - 1);
  return cdf(complement(t, quantile(complement(t, level)) - effect / standard_error));
}

double standard_error(const arma::mat& score, const arma::rowvec& baseline,
                      const std::vector<Index>& pruned) {
  std::vector<double> errors;
  for (Index head_index = 0; head_index < score.n_rows; ++head_index) {
    if (std::ranges::binary_search(pruned, head_index)) continue;
    const arma::rowvec gain = score.row(head_index) - baseline;
    const arma::rowvec resampled = gain.tail(gain.n_elem - 1);
    const arma::vec finite = resampled.elem(arma::find_finite(resampled));
    if (finite.n_elem >= 2) errors.push_back(arma::stddev(finite));
  }
  return errors.empty() ? arma::datum::nan : arma::median(arma::vec(errors));
}

double n_number(const std::vector<double>& values) {
  return static_cast<double>(
      std::ranges::count_if(values, [](double value) { return !std::isnan(value); }));
}

}  // namespace headscope
