#include <algorithm>
#include <cmath>
#include <numeric>

#include "circuits/circuits.hpp"
#include "headscope/figure.hpp"
#include "layer_pairs.hpp"

namespace headscope {
namespace {

/// The slice of an array at one index of its last axis.
Array at_last(const Array& array, std::size_t index) {
  Array part({array.shape[0], array.shape[1]});
  for (std::size_t i = 0; i < array.shape[0]; ++i) {
    for (std::size_t j = 0; j < array.shape[1]; ++j) part(i, j) = array(i, j, index);
  }
  return part;
}

Figure copying_figure(const ResultsGroup& group) {
  Heatmap map = head_map("OV copying", {{"", group.values("ov_copying")}});
  if (group.has("ov_copying_full")) {
    map.panels[0].title = "W_O W_V";
    map.panels.push_back({"from token to token", group.values("ov_copying_full")});
  }
  map.scale = ColourScale::diverging;
  return {
      .name = "elhage2021_copying",
      .group = group.name,
      .title = "Copying heads: eigenvalues of the OV circuit",
      .caption =
          "Real part of the sum of the eigenvalues of W_O W_V over the sum of their "
          "absolute values: +1 writes back what it reads, -1 its opposite. "
          "From token to token: the same with embedding and unembedding, as if heads read tokens "
          "directly. From the weights alone: what heads do to attended tokens on text is "
          "copy_effect and suppression_effect of the analysis classification.",
      .source = "Elhage et al. 2021",
      .content = map};
}

/// The |value| that all but a few in a thousand stay below, for the colour scale.
double common_size(const std::vector<HeatmapPanel>& panels) {
  std::vector<double> sizes;
  for (const HeatmapPanel& panel : panels) {
    for (const double value : panel.values.values) {
      if (std::isfinite(value)) sizes.push_back(std::abs(value));
    }
  }
  if (sizes.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(0.995 * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), sizes.begin() + place, sizes.end());
  return sizes[static_cast<std::size_t>(place)];
}

/// One label per layer, at its middle head.
std::vector<std::string> layer_labels(std::size_t n_layer, std::size_t n_head) {
  std::vector<std::string> labels(n_layer * n_head);
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    labels[layer * n_head + n_head / 2] = "L" + std::to_string(layer);
  }
  return labels;
}

Figure composition_figure(const ResultsGroup& group) {
  const Array& scores = group.values("composition");
  const Array& null = group.values("composition_null");
  const Shape& heads = group.values("ov_copying").shape;
  const bool by_layer = heads[0] * heads[1] > most_heads_by_pair;
  constexpr std::size_t n_named = 3;
  Heatmap map;
  map.row_title = "earlier head (layer)";
  map.column_title = "later head (layer)";
  map.value_title = "composition - random baseline";
  map.scale = ColourScale::diverging;
  std::string strongest;
  for (std::size_t kind = 0; kind < scores.shape[0]; ++kind) {
    Array above = scores.part(kind);
    for (double& value : above.values) value -= null(kind);
    const char letter = "QKV"[kind];
    const LayerPairs pairs = layer_pairs(above, heads[1], false, n_named);
    strongest += std::string(kind == 0 ? " Strongest: " : "; ") + letter + " " + pairs.named;
    HeatmapPanel panel{std::string(1, letter) + "-composition", std::move(above)};
    if (by_layer) {
      panel.values = pairs.largest;
      panel.marked = pairs.marked;
    }
    map.panels.push_back(std::move(panel));
  }
  if (by_layer) {
    map.row_title = "layer of the earlier head";
    map.column_title = "layer of the later head";
  } else {
    map.row_labels = map.column_labels = layer_labels(heads[0], heads[1]);
    map.group = heads[1];
  }
  if (const double size = common_size(map.panels); size > 0) {
    map.low = -size;
    map.high = size;
  }
  return {.name = "elhage2021_composition",
          .group = group.name,
          .title = "Which later heads read what earlier heads write",
          .caption =
              "|OV_1 X_2| / (|OV_1| |X_2|) for every earlier and later head, X_2 being QK "
              "(Q), its transpose (K) or OV (V), minus the mean of random Gaussian matrices "
              "of the same shapes. From the weights alone; empty where the second head is "
              "not in a later layer. The largest 0.5 % lie beyond the ends of the scale." +
              std::string(by_layer ? " A cell is the largest by size of all pairs of heads of two "
                                     "layers; dots mark the pairs named here."
                                   : "") +
              strongest + ".",
          .source = "Elhage et al. 2021",
          .content = map};
}

Figure rank_figure(const ResultsGroup& group) {
  const Array& rank = group.values("qk_rank90");
  const Array& joint = group.values("qk_rank90_joint");
  Series heads, sum;
  heads.label = "each head";
  heads.style = Series::Style::points;
  sum.label = "heads added up";
  for (std::size_t layer = 0; layer < rank.shape[0]; ++layer) {
    double added = 0;
    for (std::size_t head = 0; head < rank.shape[1]; ++head) {
      heads.add(static_cast<double>(layer), rank(layer, head));
      added += rank(layer, head);
    }
    sum.add(static_cast<double>(layer), added);
  }
  Chart chart;
  chart.panels = {{"", {heads, Series::line("heads together", joint.values), sum}, {}}};
  chart.x_title = "layer";
  chart.y_title = "singular values for 90 %";
  chart.log_y = true;
  return {.name = "cordonnier2020_rank",
          .group = group.name,
          .title = "Rank of the query-key products",
          .caption =
              "How many singular values of W_Q W_K' carry 90 % of the squared sum: for each "
              "head, and for a layer's heads side by side in one d_model x d_model product. "
              "Together below the sum means that heads share directions.",
          .source = "Cordonnier et al. 2020",
          .content = chart};
}

Figure overlap_figure(const ResultsGroup& group) {
  const Array& overlap = group.values("subspace_overlap");
  const double chance = group.scalar("subspace_overlap_null_mean");
  constexpr std::size_t most_pairs = 40;  // points of a layer
  Chart chart;
  for (std::size_t projection = 0; projection < overlap.shape[0]; ++projection) {
    const Array layers = overlap.part(projection);
    Series pairs, mean;
    pairs.label = "two heads";
    pairs.style = Series::Style::points;
    pairs.colour = mean.colour = 0;
    pairs.shift = -0.15;
    mean.label = "mean of the layer";
    for (std::size_t layer = 0; layer < layers.shape[0]; ++layer) {
      std::vector<double> overlaps;
      for (std::size_t i = 0; i < layers.shape[1]; ++i) {
        for (std::size_t j = 0; j < i; ++j) overlaps.push_back(layers(layer, i, j));
      }
      std::ranges::sort(overlaps);
      const std::size_t n_pair = overlaps.size(), n_shown = std::min(n_pair, most_pairs);
      for (std::size_t i = 0; i < n_shown; ++i) {
        pairs.add(static_cast<double>(layer),
                  overlaps[n_shown == n_pair ? i : i * (n_pair - 1) / (n_shown - 1)]);
      }
      mean.add(static_cast<double>(layer), std::accumulate(overlaps.begin(), overlaps.end(), 0.0) /
                                               static_cast<double>(n_pair));
    }
    chart.panels.push_back({std::string("W_") + "QKVO" [projection],
                            { std::move(pairs), std::move(mean) },
                            {{"random subspaces", chance}}});
  }
  chart.x_title = "layer";
  chart.y_title = "overlap (mean squared cosine)";
  return {.name = "subspace_overlap",
          .group = group.name,
          .title = "Do the heads of a layer share directions?",
          .caption =
              "Mean squared cosine of the principal angles between two heads' column spaces "
              "(row spaces of W_O) in the residual stream, a point for each pair of heads of a "
              "layer, beside random subspaces of the same size. 0 is orthogonal, 1 the same "
              "subspace. Of more than 40 pairs, 40 from the least to the largest are drawn. "
              "`subspace_overlap` in results.h5 has the matrices.",
          .source = "Bjorck & Golub 1973",
          .content = std::move(chart)};
}

Figure position_figure(const ResultsGroup& group) {
  const Array& share = group.values("position_only_share");
  Heatmap map =
      head_map("attention (probability)", {{"same token", at_last(share, 0)},
                                           {"previous token", at_last(share, 1)},
                                           {"position 0", group.values("position_only_sink")}});
  map.low = 0;
  return {.name = "position_only",
          .group = group.name,
          .title = "Attention from position embeddings alone (exact for layer 0 only)",
          .caption =
              "Mean attention of positions from 2 on when the layer's input is the position "
              "embedding alone, through its ln_1. Only layer 0 is exact; deeper layers read "
              "a residual stream, so for them this is what their weights would do with "
              "positions.",
          .source = own_definition,
          .content = map};
}

Figure offsets_figure(const ResultsGroup& group) {
  const Array& share = group.values("position_only_share");
  Heatmap map;
  map.panels = {{"layer 0 (exact)", share.part(0)}};
  map.row_title = "head";
  map.column_title = "offset (tokens back)";
  map.value_title = "attention (probability)";
  map.low = 0;
  return {.name = "position_only_offsets",
          .group = group.name,
          .title = "Layer 0: attention to the last tokens from positions alone",
          .caption =
              "Mean attention of positions from 2 on to the key at each offset when layer 0 "
              "reads the position embeddings alone.",
          .source = own_definition,
          .content = map};
}

}  // namespace

std::vector<Figure> circuits_figures(const Results& results) {
  const ResultsGroup& group = results.group("circuits");
  std::vector<Figure> figures{copying_figure(group), composition_figure(group), rank_figure(group)};
  if (group.values("subspace_overlap").shape[2] > 1) {
    figures.push_back(overlap_figure(group));
  }
  figures.push_back(position_figure(group));
  figures.push_back(offsets_figure(group));
  return figures;
}

}  // namespace headscope
