#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/forward.hpp"
#include "headscope/statistics.hpp"
#include "headscope/types.hpp"

/// Mean z over tokens, which takes the place of a head's z in mean ablation.
namespace headscope {

/// Adds z of the tokens after position 0. @param sums  layer x d_z.
inline void add_z(const LayerView& view, Array& sums) {
  double* const of_layer = &sums(view.layer, Index{0});
  for (Index t = 1; t < view.n_token; ++t) {
    for (Index i = 0; i < view.z.n_rows; ++i) of_layer[i] += view.z(i, t);
  }
}

/// Adds z of the tokens after position 0 to the sum `name`, layer x d_z, and the number of these
/// tokens to the sum `name`_count.
inline void add_z(const LayerView& view, Index n_layer, const std::string& name,
                  DocumentStatistics& statistics) {
  add_z(view, statistics.sum(name, {n_layer, view.z.n_rows}));
  if (view.layer == 0) {
    statistics.sum(name + "_count", {1})(0) += static_cast<double>(view.n_token - 1);
  }
}

/// @param sums   over tokens: d_z.
/// @param count  of tokens.
inline Vector means_of(std::span<const double> sums, double count) {
  Vector means(sums.size());
  for (Index i = 0; i < sums.size(); ++i) means(i) = static_cast<float>(sums[i] / count);
  return means;
}

/// By layer, from sums by layer.
inline std::vector<Vector> means_by_layer(const Array& sums, double count) {
  std::vector<Vector> means;
  for (Index l = 0; l < sums.shape[0]; ++l) means.push_back(means_of(sums.part(l).values, count));
  return means;
}

/// Mean z by layer, d_z each, from the sums that add_z added under this name.
inline std::vector<Vector> mean_z(const Statistics& statistics, const std::string& name) {
  return means_by_layer(statistics.total(name), statistics.total(name + "_count")(0));
}

}  // namespace headscope
