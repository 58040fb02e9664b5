#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "pruning/results.hpp"

namespace headscope {
namespace {

const char* const michel = "Michel et al. 2019";
constexpr std::size_t grey_series = 7;  // black in the palette, as guides are

// Sequential from zero, unless a head is better ablated.
void scale_from_zero(Heatmap& map, bool any_below_zero) {
  if (any_below_zero) {
    map.scale = ColourScale::diverging;
  } else {
    map.low = 0;
  }
}

Figure ablation_figure(const ResultsGroup& group) {
  Heatmap map = head_map("loss increase (nats per token)", {});
  const Variable& increase = group.variable("loss_increase");
  const Dimension& ablations = group.dimensions.at("ablation");
  Array unsure(increase.values.shape);
  bool harmful = false;
  for (std::size_t i = 0; i < unsure.size(); ++i) {
    const Estimate head = increase.estimate(i);
    unsure.values[i] = head.low <= 0 && head.high >= 0 ? 1 : 0;
    harmful = harmful || (head.has_interval() ? head.high : head.value) < 0;
  }
  for (std::size_t ablation = 0; ablation < ablations.size(); ++ablation) {
    map.panels.push_back(
        {ablations.text[ablation], increase.values.part(ablation), unsure.part(ablation)});
  }
  scale_from_zero(map, harmful);
  return {.name = "michel2019_ablation",
          .group = group.name,
          .title = "Loss increase when one head is ablated",
          .caption =
              "Mean loss with one head ablated minus the loss of the whole "
              "model, nats per token, by ablation, each on a scale of its own. A dot marks a head "
              "whose 95 % interval "
              "includes zero. The scale is centred at zero if without some head the loss falls.",
          .source = michel,
          .content = std::move(map)};
}

Figure all_but_one_figure(const ResultsGroup& group) {
  const double baseline = group.variable("loss_baseline").values.values[0];
  Array values = group.variable("loss_all_but_one").values;
  bool falls = false;
  for (double& value : values.values) falls = (value -= baseline) < 0 || falls;
  Heatmap map = head_map("loss increase (nats per token)", {{"", std::move(values)}});
  map.column_title = "head that stays";
  scale_from_zero(map, falls);
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

/// @param to  the largest share of heads pruned.
ChartPanel curve_panel(const ResultsGroup& group, const std::string& title, double to) {
  ChartPanel panel{title, {}, {}};
  const Variable& curve = group.variable("curve");
  const Dimension& orders = group.dimensions.at("order");
  std::vector<double> steps = group.dimensions.at("step").values;
  std::erase_if(steps, [&](double step) { return step > to + 1e-9; });
  const std::vector<double>& deviation = group.variable("curve_random_std").values.values;
  const double baseline = curve.values(0, 0);
  // Drawn from the last order, random, whose band must not hide the others.
  for (std::size_t order = orders.size(); order-- > 0;) {
    Series series;
    series.label = orders.text[order];
    series.colour = order;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const double loss = curve.values(order, step);
      if (orders.text[order] == "random") {
        const double low = std::max(loss - deviation[step], std::min(loss, baseline));
        series.add(steps[step], {loss, low, loss + deviation[step]});
      } else {
        series.add(steps[step], loss);
      }
    }
    panel.series.push_back(std::move(series));
  }
  panel.reference_lines.push_back({"whole model", baseline});
  return panel;
}

Figure curve_figure(const ResultsGroup& group) {
  Chart chart;
  chart.x_title = "share of heads pruned";
  chart.y_title = "loss (nats per token)";
  chart.own_axes = true;
  chart.panels = {curve_panel(group, "all heads", 1),
                  curve_panel(group, "the first 20 %, enlarged", 0.2)};
  return {.name = "michel2019_curve",
          .group = group.name,
          .title = "Loss as heads are pruned",
          .caption =
              "Mean loss with a growing share of heads set to zero, in "
              "ascending order of ablation loss, of layer-normalized "
              "first-order importance, and in random order (mean of 5 orders; "
              "band: one standard deviation, cut at the whole model's loss). Documents of even "
              "number make the orders, those of odd number score them. The right panel is the "
              "beginning of the left one on a scale of its own.",
          .source = michel,
          .content = std::move(chart)};
}

/// Importance across, the measured loss increase up.
/// @param variant  of the importance.
ChartPanel importance_panel(const ResultsGroup& group, std::size_t variant,
                            const std::string& title) {
  const Array importance = group.variable("importance").values.part(variant),
              measured = group.variable("loss_increase").values.part(0);
  const std::size_t n_head = importance.shape[1];
  std::vector<double> sizes;
  for (const double value : measured.values) sizes.push_back(std::abs(value));
  std::sort(sizes.rbegin(), sizes.rend());
  const double named_from = sizes[std::min<std::size_t>(5, sizes.size() - 1)];
  Series heads;
  heads.label = "heads, 95 % interval";
  heads.style = Series::Style::points;
  const Variable& increase = group.variable("loss_increase");
  for (std::size_t head_index = 0; head_index < importance.size(); ++head_index) {
    heads.add(importance.values[head_index], increase.estimate(head_index));
    const bool named = std::abs(measured.values[head_index]) >= named_from;
    heads.point_labels.push_back(named ? HeadIndex::of(head_index, n_head).text() : "");
  }
  const double rho = group.variable("importance_correlation").values(variant);
  return {
      title + ": ρ = " + (rho < 0 ? "−" : "") + decimals(std::abs(rho), 2), {std::move(heads)}, {}};
}

Figure importance_figure(const ResultsGroup& group) {
  Chart chart;
  chart.x_title = "importance (nats per token)";
  chart.y_title = "measured loss increase (nats per token)";
  chart.own_axes = true;
  const std::vector<std::string>& variants = group.dimensions.at("variant").text;
  const auto variant = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(variants, name) - variants.begin());
  };
  chart.panels.push_back(importance_panel(group, variant("per_example"), "absolute, per example"));
  ChartPanel prediction = importance_panel(group, variant("signed"), "signed, the prediction");
  const auto [least, most] = std::ranges::minmax(prediction.series.front().x);
  Series exact;
  exact.label = "exact prediction";
  exact.colour = grey_series;
  exact.x = exact.y = {least, most};
  prediction.series.insert(prediction.series.begin(), std::move(exact));
  chart.panels.push_back(std::move(prediction));
  return {.name = "michel2019_importance",
          .group = group.name,
          .title = "First-order importance against ablation",
          .caption =
              "Each point is a head; up, the loss increase measured when it is set to zero, with "
              "its 95 % interval. Across, left: the importance of Michel et al., the mean over "
              "documents of |sum of z.g|; right: signed importance, the loss increase that the "
              "gradient predicts. ρ: Spearman's rank correlation. The six heads furthest out are "
              "named.",
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
