#include "classification/types/power.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace headscope {
namespace {

/// Probability that a one-sided test of this level finds an effect.
double test_power(double effect, double standard_error, double level, double n_document) {
  if (!(standard_error > 0) || !(n_document >= 2)) return arma::datum::nan;
  const boost::math::students_t_distribution<> t(n_document - 1);
  return cdf(complement(t, quantile(complement(t, level)) - effect / standard_error));
}

/// Median over heads of the standard deviation over resamples of score minus baseline.
double standard_error(const arma::mat& score, const arma::rowvec& baseline) {
  if (score.n_cols < 2) return arma::datum::nan;
  arma::mat gain = score.tail_cols(score.n_cols - 1);
  gain.each_row() -= baseline.tail(baseline.n_elem - 1);
  arma::vec errors = arma::stddev(gain, 0, 1);
  errors = errors.elem(arma::find_finite(errors));
  return errors.empty() ? arma::datum::nan : arma::median(errors);
}

double n_test(const std::vector<double>& p) {
  return static_cast<double>(
      std::ranges::count_if(p, [](double value) { return !std::isnan(value); }));
}

}  // namespace

std::array<double, n_head_type> type_powers(const RelationTests& relations,
                                            const CoreferenceTest& coreference,
                                            const SemanticTest& semantic) {
  std::array<double, n_head_type> powers;
  powers.fill(arma::datum::nan);
  const auto power = [&](HeadType type) -> double& {
    return powers[static_cast<std::size_t>(type)];
  };
  double n_relation_test = 0, n_tested = 0, found = 0;
  for (const RelationTest& test : relations)
    n_relation_test += is_tested(test) ? n_test(test.p) : 0;
  for (const RelationTest& test : relations) {
    if (!is_tested(test)) continue;
    ++n_tested;
    found += test_power(type_threshold::gain,
                        standard_error(test.heldout_accuracy, test.heldout_baseline),
                        significant_q / n_relation_test, test.heldout_documents);
  }
  if (n_tested > 0) power(HeadType::syntactic) = found / n_tested;
  if (const double n = n_test(coreference.p); n > 0) {
    power(HeadType::coreference) =
        test_power(type_threshold::gain, standard_error(coreference.accuracy, coreference.baseline),
                   significant_q / n, coreference.n_document);
  }
  // The least over heads of the probability that z reaches its threshold.
  const boost::math::normal_distribution<> normal;
  for (std::size_t head_index = 0; head_index < semantic.z.size(); ++head_index) {
    const double z =
        (type_threshold::semantic - semantic.null_mean[head_index]) / semantic.null_std[head_index];
    if (!std::isfinite(z)) continue;
    power(HeadType::semantic) = std::fmin(power(HeadType::semantic),
                                          cdf(complement(normal, type_threshold::semantic_z - z)));
  }
  return powers;
}

}  // namespace headscope
