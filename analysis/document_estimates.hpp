#pragma once

#include <functional>
#include <vector>

#include "headscope/estimate.hpp"

namespace headscope {

/// A statistic's values, by how often each block counts.
using BlockStatistic = std::function<std::vector<double>(const BootstrapCounts&)>;

/// Estimates with intervals by document: Bootstrap's from `least_documents` documents on; of fewer
/// value -+ t times the jackknife's standard error, t Student's (Tukey 1958). None for one
/// document, or with fewer than `least_resamples` resamples.
std::vector<Estimate> estimates_of_documents(const std::vector<double>& documents_per_block,
                                             const BlockStatistic& statistic,
                                             std::size_t n_bootstrap, std::uint64_t seed);

}  // namespace headscope
