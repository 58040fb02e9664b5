#include "head_figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_heads_by_pair = 400;
constexpr std::size_t most_named_rows = 64;

/// Offsets of the pairs that are named; of a symmetric matrix, above the diagonal.
std::vector<std::size_t> largest_pairs(const Array& of_heads, const NamedPairs& naming) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < of_heads.shape[0]; ++i) {
    for (std::size_t j = naming.symmetric ? i + 1 : 0; j < of_heads.shape[1]; ++j) {
      const double value = of_heads(i, j);
      if (std::isnan(value) || (naming.positive && value <= 0)) continue;
      order.push_back(i * of_heads.shape[1] + j);
    }
  }
  const std::size_t n = std::min(naming.n_named, order.size());
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(n), {},
      [&](std::size_t pair) { return std::pair(-std::abs(of_heads.values[pair]), pair); });
  order.resize(n);
  return order;
}

/// @param of_heads  head_index x head_index.
/// @return          layer x layer.
Array largest_of_layers(const Array& of_heads, std::size_t n_head) {
  const std::size_t n_head_total = of_heads.shape[0], n_layer = n_head_total / n_head;
  Array largest({n_layer, n_layer}, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n_head_total; ++i) {
    for (std::size_t j = 0; j < n_head_total; ++j) {
      double& of_layers = largest(i / n_head, j / n_head);
      if (std::isnan(of_layers) || std::abs(of_heads(i, j)) > std::abs(of_layers)) {
        of_layers = of_heads(i, j);
      }
    }
  }
  return largest;
}

/// A name per head, or of many heads one per layer at its middle head.
std::vector<std::string> row_names(std::size_t n_head_total, std::size_t n_head, bool by_head) {
  std::vector<std::string> names(n_head_total);
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    if (by_head) {
      names[head_index] = head_text(head_index, n_head);
    } else if (head_index % n_head == n_head / 2) {
      names[head_index] = "L" + std::to_string(head_index / n_head);
    }
  }
  return names;
}

}  // namespace

PairMap pair_map(std::vector<HeatmapPanel> panels, std::size_t n_head, const NamedPairs& naming) {
  const std::size_t n_head_total = panels.front().values.shape[0];
  PairMap pairs;
  pairs.by_layer = n_head_total > most_heads_by_pair;
  pairs.names_heads = n_head_total <= most_named_rows;
  for (HeatmapPanel& panel : panels) {
    const Array of_heads = panel.values;
    if (pairs.by_layer) {
      panel.values = largest_of_layers(of_heads, n_head);
      panel.marked = Array(panel.values.shape);
    }
    const auto name = [&](std::size_t pair) {
      const std::size_t i = pair / n_head_total, j = pair % n_head_total;
      return head_text(i, n_head) + (naming.symmetric ? " and " : " to ") + head_text(j, n_head) +
             " " + decimals(of_heads(i, j), 2);
    };
    const std::vector<std::size_t> largest = largest_pairs(of_heads, naming);
    pairs.named.push_back(joined(largest, ", ", name));
    for (const std::size_t pair : largest) {
      if (!pairs.by_layer) break;
      const std::size_t i = pair / n_head_total / n_head, j = pair % n_head_total / n_head;
      panel.marked(i, j) = 1;
      if (naming.symmetric) panel.marked(j, i) = 1;
    }
  }
  pairs.map = {.panels = std::move(panels),
               .scale = ColourScale::diverging,
               .group = pairs.by_layer ? 0 : n_head};
  if (!pairs.by_layer) {
    pairs.map.row_labels = row_names(n_head_total, n_head, pairs.names_heads);
    pairs.map.column_labels = pairs.map.row_labels;
  } else {
    pairs.about =
        " A cell is the largest by size of all pairs of heads of two layers; dots mark the pairs "
        "named here.";
  }
  return pairs;
}

Estimate drawn_share(Estimate share) {
  share.value = std::clamp(share.value, lowest_share, highest_share);
  return within(std::move(share), lowest_share, highest_share);
}

std::vector<std::string> furthest_names(const std::vector<double>& values, std::size_t n_head,
                                        std::size_t most) {
  std::vector<double> sizes(values.size());
  std::ranges::transform(values, sizes.begin(),
                         [](double value) { return std::isnan(value) ? 0 : std::abs(value); });
  std::ranges::sort(sizes, std::greater());
  const double named_from = sizes.at(std::min(most, sizes.size()) - 1);
  std::vector<std::string> names(values.size());
  for (std::size_t head_index = 0; head_index < values.size(); ++head_index) {
    if (values[head_index] != 0 && std::abs(values[head_index]) >= named_from) {
      names[head_index] = head_text(head_index, n_head);
    }
  }
  return names;
}

std::string removed_heads_caption(const Results& results, const Figure& figure) {
  const auto* const map = std::get_if<Heatmap>(&figure.content);
  if (map == nullptr || !map->heads) return "";
  const Shape& shape = map->panels.front().values.shape;
  const bool any = std::ranges::count(removed_heads(results, {shape[0], shape[1]}), true) > 0;
  return any ? " Removed heads are left empty." : "";
}

}  // namespace headscope
