#pragma once

#include <span>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/forward.hpp"
#include "headscope/types.hpp"

/// Mean z over tokens, which takes the place of a head's z in mean ablation.
namespace headscope {

/// Adds z of the tokens after position 0. @param sums  d_z.
inline void add_z(const LayerView& view, std::span<double> sums) {
  for (Index t = 1; t < view.n_token; ++t) {
    for (Index i = 0; i < sums.size(); ++i) sums[i] += view.z(i, t);
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

}  // namespace headscope
