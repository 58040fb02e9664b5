#include <algorithm>
#include <cmath>

#include "pruning/results.hpp"

namespace headscope {
namespace {

const char* const michel = "Michel et al. 2019";

Figure ablation_figure(const ResultsGroup& group) {
  Heatmap map;
  map.heads = true;
  map.row_title = "layer";
  map.column_title = "head";
  map.value_title = "loss increase (nats per token)";
  map.scale = ColourScale::diverging;
  const Variable& increase = group.variable("loss_increase");
  const Dimension& ablations = group.dimensions.at("ablation");
  for (std::size_t ablation = 0; ablation < ablations.size(); ++ablation) {
    map.panels.push_back({ablations.text[ablation], increase.values.part(ablation)});
  }
  return {.name = "michel2019_ablation",
          .group = group.name,
          .title = "Loss increase when one head is ablated",
          .caption =
              "Mean loss with one head ablated minus the loss of the whole "
              "model, nats per token, by ablation. Blue heads help less "
              "than nothing: without them the loss falls.",
          .source = michel,
          .content = std::move(map)};
}

Figure all_but_one_figure(const ResultsGroup& group) {
  const double baseline = group.variable("loss_baseline").values.values[0];
  Heatmap map;
  map.heads = true;
  map.row_title = "layer";
  map.column_title = "head that stays";
  map.value_title = "loss increase (nats per token)";
  map.scale = ColourScale::diverging;
  Array values = group.variable("loss_all_but_one").values;
  for (double& value : values.values) value -= baseline;
  map.panels.push_back({"", std::move(values)});
  return {
      .name = "michel2019_all_but_one",
      .group = group.name,
      .title = "Loss when a layer keeps one head",
      .caption =
          "Mean loss with every other head of the layer set to zero, minus the loss of the whole "
          "model, nats per token.",
      .source = michel,
      .content = std::move(map)};
}

Figure curve_figure(const ResultsGroup& group) {
  Chart chart;
  chart.x_title = "share of heads pruned";
  chart.y_title = "loss (nats per token)";
  ChartPanel panel;
  const Variable& curve = group.variable("curve");
  const Dimension& orders = group.dimensions.at("order");
  const std::vector<double>& steps = group.dimensions.at("step").values;
  const std::vector<double>& deviation = group.variable("curve_random_std").values.values;
  for (std::size_t order = 0; order < orders.size(); ++order) {
    Series series;
    series.label = orders.text[order];
    series.x = steps;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const double loss = curve.values(order, step);
      series.y.push_back(loss);
      if (orders.text[order] != "random") continue;
      series.low.push_back(loss - deviation[step]);
      series.high.push_back(loss + deviation[step]);
    }
    panel.series.push_back(std::move(series));
  }
  panel.reference_lines.push_back(
      {"whole model", group.variable("loss_baseline").values.values[0]});
  chart.panels.push_back(std::move(panel));
  return {.name = "michel2019_curve",
          .group = group.name,
          .title = "Loss as heads are pruned",
          .caption =
              "Mean loss with a growing share of heads set to zero, in "
              "ascending order of ablation loss, of layer-normalized "
              "first-order importance, and in random order (mean of 5 orders, "
              "band: one standard deviation).",
          .source = michel,
          .content = std::move(chart)};
}

Figure importance_figure(const ResultsGroup& group) {
  Chart chart;
  chart.x_title = "predicted loss increase (nats per token)";
  chart.y_title = "measured loss increase (nats per token)";
  const Array predicted = group.variable("importance").values.part(2),
              measured = group.variable("loss_increase").values.part(0);
  const std::size_t n_head = predicted.shape[1];
  std::vector<double> sizes;
  for (const double value : measured.values) sizes.push_back(std::abs(value));
  std::sort(sizes.rbegin(), sizes.rend());
  const double named_from = sizes[std::min<std::size_t>(5, sizes.size() - 1)];
  Series heads;
  heads.label = "heads";
  heads.style = Series::Style::points;
  for (std::size_t unit = 0; unit < predicted.size(); ++unit) {
    heads.x.push_back(predicted.values[unit]);
    heads.y.push_back(measured.values[unit]);
    const bool named = std::abs(measured.values[unit]) >= named_from;
    heads.point_labels.push_back(named ? HeadIndex{unit / n_head, unit % n_head}.text() : "");
  }
  chart.panels.push_back({"", {std::move(heads)}, {}});
  return {.name = "michel2019_importance",
          .group = group.name,
          .title = "First-order importance against ablation",
          .caption =
              "Each point is a head: the loss increase that the gradient "
              "predicts for zero ablation (signed importance), and the "
              "one measured. The six heads furthest out are named.",
          .source = michel,
          .content = std::move(chart)};
}

}  // namespace

std::vector<Figure> pruning_figures(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  std::vector<Figure> figures{ablation_figure(group), all_but_one_figure(group),
                              importance_figure(group)};
  if (group.has("curve")) figures.push_back(curve_figure(group));
  return figures;
}

}  // namespace headscope
