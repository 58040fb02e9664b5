#include "layer_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/number_text.hpp"
#include "report_text.hpp"

namespace headscope {

LayerPairs layer_pairs(const Array& of_heads, std::size_t n_head, bool symmetric,
                       std::size_t n_named) {
  const std::size_t n_head_total = of_heads.shape[0], n_layer = n_head_total / n_head;
  LayerPairs pairs{Array({n_layer, n_layer}, std::numeric_limits<double>::quiet_NaN()),
                   Array({n_layer, n_layer}), ""};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n_head_total; ++i) {
    for (std::size_t j = 0; j < n_head_total; ++j) {
      const double value = of_heads(i, j);
      if (std::isnan(value)) continue;
      double& largest = pairs.largest(i / n_head, j / n_head);
      if (std::isnan(largest) || std::abs(value) > std::abs(largest)) largest = value;
      if (!symmetric || i < j) order.push_back(i * n_head_total + j);
    }
  }
  const auto n = static_cast<std::ptrdiff_t>(std::min(n_named, order.size()));
  std::ranges::partial_sort(order, order.begin() + n, [&](std::size_t a, std::size_t b) {
    const double first = std::abs(of_heads.values[a]), second = std::abs(of_heads.values[b]);
    return first != second ? first > second : a < b;
  });
  for (std::ptrdiff_t place = 0; place < n; ++place) {
    const std::size_t pair = order[static_cast<std::size_t>(place)], i = pair / n_head_total,
                      j = pair % n_head_total;
    pairs.marked(i / n_head, j / n_head) = 1;
    if (symmetric) pairs.marked(j / n_head, i / n_head) = 1;
    pairs.named += (place == 0 ? "" : ", ") + head_text(i, n_head) +
                   (symmetric ? " and " : " to ") + head_text(j, n_head) + " " +
                   decimals(of_heads(i, j), 2);
  }
  return pairs;
}

}  // namespace headscope
