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

double standard_error(const arma::mat& score, const arma::rowvec& baseline) {
  if (score.n_cols < 2) return arma::datum::nan;
  arma::mat gain = score.tail_cols(score.n_cols - 1);
  gain.each_row() -= baseline.tail(baseline.n_elem - 1);
  arma::vec errors = arma::stddev(gain, 0, 1);
  errors = errors.elem(arma::find_finite(errors));
  return errors.empty() ? arma::datum::nan : arma::median(errors);
}

double n_number(const std::vector<double>& values) {
  return static_cast<double>(
      std::ranges::count_if(values, [](double value) { return !std::isnan(value); }));
}

}  // namespace headscope
