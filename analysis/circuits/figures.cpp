#include <algorithm>
#include <numeric>

#include "circuits/circuits.hpp"
#include "head_figures.hpp"
#include "headscope/figure.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

Figure copying_figure(const ResultsGroup& group) {
  Heatmap map = head_map("OV copying", {{"", group.values("ov_copying")}});
  if (group.has("ov_copying_full")) {
    map.panels[0].title = "W_O W_V";
    map.panels.push_back({"from token to token", group.values("ov_copying_full")});
  }
  map.scale = ColourScale::diverging;
  return {.name = "elhage2021_copying",
          .group = group.name,
          .title = "Copying heads: eigenvalues of the OV circuit",
          .caption =
              "Real part of the sum of the eigenvalues of W_O W_V over the sum of their absolute "
              "values: a head at +1 writes what it reads, a head at -1 the opposite. From token to "
              "token: the same with embedding and unembedding, as if heads read tokens directly. "
              "Both come from the weights alone; copy_effect and suppression_effect of the "
              "analysis classification measure what heads do to attended tokens on text.",
          .source = "Elhage et al. 2021",
          .content = map};
}

Figure composition_figure(const ResultsGroup& group) {
  const Array& scores = group.values("composition");
  const Array& null = group.values("composition_null");
  const Shape& heads = group.values("ov_copying").shape;
  std::vector<HeatmapPanel> panels;
  for (std::size_t kind = 0; kind < scores.shape[0]; ++kind) {
    panels.push_back({std::string(1, "QKV"[kind]) + "-composition",
                      scores.part(kind).mapped([&](double score) { return score - null(kind); })});
  }
  PairMap pairs = pair_map(std::move(panels), heads[1], {.n_named = 3, .positive = true});
  std::string strongest;
  for (std::size_t kind = 0; kind < scores.shape[0]; ++kind) {
    if (pairs.named[kind].empty()) continue;
    strongest += (strongest.empty() ? " Furthest above random: " : "; ") +
                 std::string(1, "QKV"[kind]) + " " + pairs.named[kind];
  }
  if (!strongest.empty()) strongest += ".";
  Heatmap& map = pairs.map;
  const std::string unit = pairs.names_heads ? "" : " (layer)";
  map.row_title = pairs.by_layer ? "layer of the earlier head" : "earlier head" + unit;
  map.column_title = pairs.by_layer ? "layer of the later head" : "later head" + unit;
  map.value_title = "composition - random baseline";
  return {.name = "elhage2021_composition",
          .group = group.name,
          .title = "Which later heads read what earlier heads write",
          .caption =
              "|OV_1 X_2| / (|OV_1| |X_2|) for every earlier and later head, X_2 being QK (Q), its "
              "transpose (K) or OV (V), minus the mean of random Gaussian matrices of the same "
              "shapes. From the weights alone; empty where the second head is not in a later "
              "layer." +
              pairs.about + strongest,
          .source = "Elhage et al. 2021",
          .content = std::move(map)};
}

Figure rank_figure(const ResultsGroup& group) {
  const Array& rank = group.values("qk_rank90");
  std::vector<double> sums;
  for (std::size_t layer = 0; layer < rank.shape[0]; ++layer) {
    const Array heads = rank.part(layer);
    sums.push_back(std::accumulate(heads.values.begin(), heads.values.end(), 0.0));
  }
  return {.name = "cordonnier2020_rank",
          .group = group.name,
          .title = "Rank of the query-key products",
          .caption =
              "How many singular values of W_Q W_K' carry 90 % of the squared sum: for each head, "
              "and for a layer's heads side by side in one d_model x d_model product. If the heads "
              "together need fewer than their sum, they share directions.",
          .source = "Cordonnier et al. 2020",
          .content = Chart{
              .panels = {{"",
                          {Series::points("each head", rank),
                           Series::line("heads together", group.values("qk_rank90_joint").values),
                           Series::line("heads added up", sums)}}},
              .x_title = "layer",
              .y_title = "singular values for 90 %",
              .log_y = true}};
}

Figure overlap_figure(const ResultsGroup& group) {
  const Array& overlap = group.values("subspace_overlap");
  const double chance = group.scalar("subspace_overlap_null_mean");
  constexpr std::size_t most_pairs = 40;  // points of a layer
  std::vector<ChartPanel> panels;
  for (std::size_t projection = 0; projection < overlap.shape[0]; ++projection) {
    const Array layers = overlap.part(projection);
    Series pairs = Series::points("two heads", 0), mean{.label = "mean of the layer", .colour = 0};
    pairs.shift = -0.15;
    for (std::size_t layer = 0; layer < layers.shape[0]; ++layer) {
      std::vector<double> overlaps;
      for (std::size_t i = 0; i < layers.shape[1]; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          // NaN for two heads that share keys and values.
          if (!std::isnan(layers(layer, i, j))) overlaps.push_back(layers(layer, i, j));
        }
      }
      if (overlaps.empty()) continue;
      std::ranges::sort(overlaps);
      const std::size_t n_pair = overlaps.size(), n_shown = std::min(n_pair, most_pairs);
      for (std::size_t i = 0; i < n_shown; ++i) {
        pairs.add(static_cast<double>(layer),
                  overlaps[n_shown == n_pair ? i : i * (n_pair - 1) / (n_shown - 1)]);
      }
      mean.add(static_cast<double>(layer), std::accumulate(overlaps.begin(), overlaps.end(), 0.0) /
                                               static_cast<double>(n_pair));
    }
    panels.push_back({matrix_name(projection),
                      {std::move(pairs), std::move(mean)},
                      {{"random subspaces", chance}}});
  }
  return {
      .name = "subspace_overlap",
      .group = group.name,
      .title = "Do the heads of a layer share directions?",
      .caption =
          "Mean squared cosine of the principal angles between two heads' column spaces (row "
          "spaces of W_O) in the residual stream, a point for each pair of heads of a layer, "
          "beside random subspaces of full rank; two of lesser rank have a smaller chance. 0 is "
          "orthogonal, 1 the same subspace. Heads that share keys and values are not compared in "
          "W_K and W_V. Of more than 40 pairs of a layer, 40 are drawn, from the smallest overlap "
          "to the largest. `subspace_overlap` in results.h5 has the matrices.",
      .source = "Bjorck & Golub 1973",
      .content = Chart{.panels = std::move(panels),
                       .x_title = "layer",
                       .y_title = "overlap (mean squared cosine)"}};
}

Figure position_figure(const Results& results) {
  const ResultsGroup& group = results.group("circuits");
  const Array& share = group.values("position_only_share");
  const auto of_heads = [&](const Array& values) { return without_removed_heads(results, values); };
  const Array& sink = group.values("position_only_sink");
  return {
      .name = "position_only",
      .group = group.name,
      .title = "Attention from position embeddings alone (exact for layer 0 only)",
      .caption =
          "Mean attention of positions from 2 on when the layer's input is the position embedding "
          "alone, through its ln_1. Only layer 0 is exact; deeper layers read a residual stream, "
          "so their panels show only what their weights would do with positions.",
      .source = headscope_definition,
      .content = head_probabilities("attention (probability)",
                                    {{"same token", of_heads(share.at_last(0))},
                                     {"previous token", of_heads(share.at_last(1))},
                                     {"position 0", of_heads(sink)}})};
}

Figure offsets_figure(const Results& results) {
  const ResultsGroup& group = results.group("circuits");
  const Array share = without_removed_heads(results, group.values("position_only_share"));
  return {.name = "position_only_offsets",
          .group = group.name,
          .title = "Layer 0: attention to the last tokens from positions alone",
          .caption =
              "Mean attention of positions from 2 on to the key at each offset when layer 0 reads "
              "the position embeddings alone.",
          .source = headscope_definition,
          .content = Heatmap{.panels = {{"layer 0 (exact)", share.part(0)}},
                             .row_title = "head",
                             .column_title = "offset (tokens back)",
                             .value_title = "attention (probability)",
                             .low = 0,
                             .high = 1}};
}

}  // namespace

std::vector<Figure> circuits_figures(const Results& results) {
  const ResultsGroup& group = results.group("circuits");
  std::vector<Figure> figures{copying_figure(group)};
  const auto has_values = [&](const char* variable) {
    return !finite_values(group.values(variable).values).empty();
  };
  if (has_values("composition") && has_values("composition_null")) {
    figures.push_back(composition_figure(group));
  }
  figures.push_back(rank_figure(group));
  if (group.values("subspace_overlap").shape[2] > 1) {
    figures.push_back(overlap_figure(group));
  }
  if (group.has("position_only_share")) {
    figures.push_back(position_figure(results));
    figures.push_back(offsets_figure(results));
  }
  return figures;
}

}  // namespace headscope
