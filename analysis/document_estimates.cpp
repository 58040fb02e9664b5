#include "document_estimates.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace headscope {

std::vector<Estimate> estimates_of_documents(const std::vector<double>& documents_per_block,
                                             const BlockStatistic& statistic,
                                             std::size_t n_bootstrap, std::uint64_t seed) {
  const BootstrapCounts observed(documents_per_block.size(), 1);
  if (weighted_sum(documents_per_block, observed) >= least_documents) {
    return Bootstrap::of_documents(documents_per_block, n_bootstrap, seed).estimates(statistic);
  }
  std::vector<Estimate> estimates;
  for (const double value : statistic(observed)) estimates.push_back({.value = value});
  std::vector<std::vector<double>> left_out;
  for (std::size_t block = 0; block < documents_per_block.size(); ++block) {
    if (documents_per_block[block] == 0) continue;
    BootstrapCounts without = observed;
    without[block] = 0;
    left_out.push_back(statistic(without));
  }
  const auto n = static_cast<double>(left_out.size());
  if (n < 2 || n_bootstrap < least_resamples) return estimates;
  const double t = quantile(complement(boost::math::students_t_distribution<>(n - 1), 0.025));
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    double mean = 0, squares = 0;
    for (const auto& values : left_out) mean += values[i] / n;
    for (const auto& values : left_out) squares += (values[i] - mean) * (values[i] - mean);
    const double half_width = t * std::sqrt((n - 1) / n * squares);
    if (std::isnan(half_width)) continue;
    estimates[i].low = estimates[i].value - half_width;
    estimates[i].high = estimates[i].value + half_width;
  }
  return estimates;
}

}  // namespace headscope
