#include <algorithm>
#include <cmath>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "correlation/results.hpp"
#include "head_figures.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Without the diagonal, which is 1 and would fill the colour scale.
Array off_diagonal(Array matrix) {
  for (std::size_t i = 0; i < matrix.shape[0]; ++i) matrix(i, i) = arma::datum::nan;
  return matrix;
}

/// A panel for each layer. @param values  layer x head x head.
Heatmap layer_matrices(const Array& values, Heatmap map) {
  map.row_title = "head";
  map.column_title = "head";
  for (std::size_t layer = 0; layer < values.shape[0]; ++layer) {
    map.panels.push_back({"layer " + std::to_string(layer), off_diagonal(values.part(layer))});
  }
  return map;
}

Heatmap cosine_scale() {
  return {.value_title = "cosine", .scale = ColourScale::diverging};
}

Figure across_layers(const ResultsGroup& group) {
  const std::size_t n_head = group.dimension("head").size();
  PairMap pairs = pair_map({{"", off_diagonal(group.values("cosine_all"))}}, n_head,
                           {.n_named = 6, .symmetric = true});
  Heatmap& map = pairs.map;
  map.value_title = "cosine";
  map.row_title = pairs.by_layer ? "layer" : pairs.names_heads ? "head" : "head (layer)";
  map.column_title = map.row_title;
  return {
      .name = "cosine_all_layers",
      .group = group.name,
      .title = "Cosine of head outputs across layers",
      .caption =
          "Cosine in residual space between the outputs of two heads, stacked over tokens. A head "
          "with itself is left out." +
          std::string(pairs.by_layer
                          ? ""
                          : " Heads are in order of layer, then head; lines divide layers.") +
          pairs.about +
          (pairs.named.front().empty() ? ""
                                       : " Most alike or opposite: " + pairs.named.front() + "."),
      .source = headscope_definition,
      .content = std::move(map)};
}

Figure mean_cosine(const Results& results, const ResultsGroup& group) {
  std::vector<ChartPanel> panels;
  const std::vector<std::string>& spaces = group.labels("space");
  for (std::size_t space = 0; space < spaces.size(); ++space) {
    const auto line = [&](const char* label, const ResultsGroup& of) {
      const std::size_t n_layer = of.dimension("layer").size();
      return Series::line(label, of.variable("mean_abs_cosine"), space * n_layer, n_layer);
    };
    ChartPanel& panel =
        panels.emplace_back(ChartPanel{spaces[space] + " space", {line("model", group)}});
    const std::string control = std::string(control_prefix) + group.name;
    if (results.has(control)) {
      panel.series.push_back(line("untrained", results.group(control)));
    }
  }
  return {
      .name = "mean_abs_cosine",
      .group = group.name,
      .title = "How alike the heads of a layer are",
      .caption =
          "Mean absolute cosine of different heads' outputs per layer, in head space (z) and "
          "residual space (z W_O), with 95 % intervals over documents where there are any; beside "
          "an untrained model "
          "of the same shape where one was run.",
      .source = headscope_definition,
      .content = Chart{
          .panels = std::move(panels), .x_title = "layer", .y_title = "mean |cosine|", .y_low = 0}};
}

Figure disagreement(const ResultsGroup& group) {
  ChartPanel panel;
  const std::vector<std::string>& kinds = group.labels("kind");
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    panel.series.push_back(
        Series::line(kinds[kind], group.values("disagreement").part(kind).values));
  }
  return {.name = "li2018_disagreement",
          .group = group.name,
          .title = "Disagreement of heads",
          .caption =
              "Minus the mean over pairs of heads of the cosine of their values (subspace), the "
              "overlap of their attention (position), and the cosine of their outputs (output). A "
              "head is paired also with itself: by subspace and output H unrelated heads have "
              "-1/H and identical heads, or one head, -1; by position identical heads have -1 "
              "only if they attend to one token. Higher is more different.",
          .source = "Li et al. 2018",
          .content = Chart{.panels = {panel}, .x_title = "layer", .y_title = "disagreement"}};
}

/// Kruskal's stress of the plane: 0 if all distances are kept.
double stress(const ResultsGroup& group) {
  const Array& mds = group.values("mds");
  const Array& distance = group.values("js_distance");
  double error = 0, total = 0;
  for (std::size_t i = 0; i < mds.shape[0]; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::isnan(distance(i, j))) continue;  // a removed head
      const double drawn = std::hypot(mds(i, 0) - mds(j, 0), mds(i, 1) - mds(j, 1));
      error += (drawn - distance(i, j)) * (drawn - distance(i, j));
      total += distance(i, j) * distance(i, j);
    }
  }
  return total == 0 ? 0 : std::sqrt(error / total);
}

/// @param removed  by head; removed heads are no points.
/// @param types    by head; null if no analysis told them.
Figure clusters(const ResultsGroup& group, const std::vector<bool>& removed,
                const HeadTypes* types) {
  const Array& mds = group.values("mds");
  const std::size_t n_head = group.dimension("head").size(),
                    n_type = types == nullptr ? 0 : types->names.size();
  std::vector<Series> by_type;
  for (std::size_t type = 0; type < n_type; ++type) {
    by_type.push_back(Series::points(spaced(types->names[type]), type));
  }
  // Last, heads of no type.
  by_type.push_back(types == nullptr ? Series::points() : Series::points("no type", no_colour));
  for (std::size_t head_index = 0; head_index < mds.shape[0]; ++head_index) {
    if (removed[head_index]) continue;
    Series& series = by_type[types == nullptr ? 0 : types->primary[head_index].value_or(n_type)];
    series.add(mds(head_index, 0), mds(head_index, 1));
    series.point_labels.push_back(head_text(head_index, n_head));
  }
  std::erase_if(by_type, [](const Series& series) { return series.x.empty(); });
  return {.name = "clark2019_clusters",
          .group = group.name,
          .title = "Heads by the likeness of their attention",
          .caption =
              "Two-dimensional metric multidimensional scaling of the Jensen-Shannon distance "
              "between the heads' attention. Near heads attend alike; the axes have no meaning of "
              "their own. Stress " +
              decimals(stress(group), 2) +
              ": the root of the squared errors of all distances over their squares." +
              (types == nullptr ? "" : " Coloured by each head's primary type.") +
              " Heads are named where there is room.",
          .source = "Clark et al. 2019, figure 6",
          .content = Chart{.panels = {{"", std::move(by_type)}},
                           .x_title = "first axis (sqrt nats)",
                           .y_title = "second axis (sqrt nats)",
                           .equal = true}};
}

/// Figures of the heads of a layer beside one another; none where no layer has two.
std::vector<Figure> layer_figures(const Results& results) {
  const ResultsGroup& group = results.group("correlation");
  if (finite_values(group.values("mean_abs_cosine").values).empty()) return {};
  const Array& cosine = group.values("cosine");
  const auto of_shared = [&](std::size_t space, const std::string& before,
                             const std::string& without) {
    const std::string text = sharing_text(results, space);
    return text.empty() ? without : before + text;
  };
  return {
      mean_cosine(results, group),
      {.name = "cosine_residual_space",
       .group = group.name,
       .title = "Cosine of head outputs in residual space",
       .caption = "Cosine between the outputs z W_O of two heads of a layer, stacked over tokens. "
                  "A head with itself is left out." +
                  of_shared(residual_space, " ", ""),
       .source = headscope_definition,
       .content = layer_matrices(cosine.part(residual_space), cosine_scale())},
      {.name = "cosine_head_space",
       .group = group.name,
       .title = "Cosine of head outputs in head space",
       .caption = "Cosine between the values z of two heads of a layer, stacked over tokens. Each "
                  "head has another basis, so the sign and size have no absolute meaning" +
                  of_shared(head_space, ", except for heads that share keys and values. ", "."),
       .source = headscope_definition,
       .content = layer_matrices(cosine.part(head_space), cosine_scale())},
      {.name = "kornblith2019_cka",
       .group = group.name,
       .title = "Linear CKA of heads",
       .caption = "Linear centred kernel alignment between the z of two heads of a layer: does "
                  "not depend on either head's basis.",
       .source = "Kornblith et al. 2019",
       .content = layer_matrices(group.values("cka"), {.value_title = "linear CKA", .low = 0})},
      disagreement(group)};
}

}  // namespace

std::vector<Figure> correlation_figures(const Results& results) {
  const ResultsGroup& group = results.group("correlation");
  std::vector<Figure> figures = layer_figures(results);
  if (group.has("cosine_all")) figures.push_back(across_layers(group));
  const HeadShape shape{group.dimension("layer").size(), group.dimension("head").size()};
  const std::vector<bool> removed = removed_heads(results, shape);
  if (group.has("mds") && std::ranges::count(removed, false) > 0) {
    const std::optional<HeadTypes> types = head_types(results);
    figures.push_back(clusters(group, removed, types ? &*types : nullptr));
  }
  return figures;
}

}  // namespace headscope
