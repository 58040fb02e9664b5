#include "pruning/orders.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headscope {

std::vector<Index> ascending_heads(const Array& scores) {
  std::vector<Index> order(scores.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    const double x = scores.values[a], y = scores.values[b];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return x < y;
  });
  return order;
}

HeadMask mask_without(const std::vector<Index>& order, Index count, Index n_layer, Index n_head) {
  HeadMask mask(n_head, n_layer, arma::fill::ones);
  for (Index i = 0; i < count; ++i) {
    const HeadIndex removed = HeadIndex::of(order[i], n_head);
    mask(removed.head, removed.layer) = 0;
  }
  return mask;
}

Array normalized_by_layer(const Array& scores) {
  Array normalized = scores;
  const std::size_t n_head = scores.shape[1];
  for (auto layer = normalized.values.begin(); layer != normalized.values.end();
       layer += static_cast<std::ptrdiff_t>(n_head)) {
    const auto end = layer + static_cast<std::ptrdiff_t>(n_head);
    const double norm = std::sqrt(std::inner_product(layer, end, layer, 0.0));
    if (norm > 0) std::for_each(layer, end, [norm](double& value) { value /= norm; });
  }
  return normalized;
}

}  // namespace headscope
