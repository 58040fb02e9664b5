#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "head_figures.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "pruning/results.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

const char* const michel = "Michel et al. 2019";
constexpr std::size_t guide_series = 7;  // black in the palette

/// By head, whether the run's model has lost it.
std::vector<bool> removed_heads_of(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  return removed_heads(results, {group.dimension("layer").size(), group.dimension("head").size()});
}

// Sequential from zero, unless a head is better ablated.
void scale_from_zero(Heatmap& map, bool any_below_zero) {
  if (any_below_zero) {
    map.scale = ColourScale::diverging;
  } else {
    map.low = 0;
  }
}

Figure ablation_figure(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  const std::vector<bool> removed = removed_heads_of(results);
  Heatmap map = head_map("loss increase (nats per token)", {});
  const Variable& increase = group.variable("loss_increase");
  Array unsure(increase.values.shape);
  bool harmful = false, any_interval = false;
  for (std::size_t i = 0; i < unsure.size(); ++i) {
    if (removed[i % removed.size()]) continue;
    const Estimate head = increase.estimate(i);
    unsure.values[i] = head.low <= 0 && head.high >= 0 ? 1 : 0;
    any_interval |= head.has_interval();
    harmful = harmful || (head.has_interval() ? head.high : head.value) < 0;
  }
  const std::vector<std::string>& ablations = group.labels("ablation");
  for (std::size_t ablation = 0; ablation < ablations.size(); ++ablation) {
    // Without donors nothing is resampled.
    if (finite_values(increase.values.part(ablation).values).empty()) continue;
    map.panels.push_back({ablations[ablation],
                          without_removed_heads(results, increase.values.part(ablation)),
                          unsure.part(ablation)});
  }
  scale_from_zero(map, harmful);
  return {.name = "michel2019_ablation",
          .group = group.name,
          .title = "Loss increase when one head is ablated",
          .caption =
              "Mean loss with one head ablated minus the loss of the whole model, nats per token; "
              "kinds of ablation that differ much in size have a scale each. " +
              std::string(any_interval ? "A dot marks a head whose 95 % interval includes zero. "
                                       : "There are no intervals: a colour may be chance. ") +
              "The scale is centred at zero if ablating some head lowers the loss.",
          .source = michel,
          .content = std::move(map)};
}

Figure all_but_one_figure(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  const double baseline = group.scalar("loss_baseline");
  const auto beyond_rounding = [&](double loss) {
    const double increase = loss - baseline;
    return std::abs(increase) <= rounding_of(baseline) ? 0 : increase;
  };
  const Array increase =
      without_removed_heads(results, group.values("loss_all_but_one").mapped(beyond_rounding));
  Heatmap map = head_map("loss increase (nats per token)", {{"", increase}});
  map.column_title = "head that stays";
  scale_from_zero(map, std::ranges::any_of(increase.values, [](double v) { return v < 0; }));
  return {.name = "michel2019_all_but_one",
          .group = group.name,
          .title = "Loss when a layer keeps one head",
          .caption =
              "Mean loss with every other head of the layer set to zero, minus the loss of the "
              "whole model, nats per token.",
          .source = michel,
          .content = std::move(map)};
}

/// @param n_head  heads that the model has not lost.
/// @param to      the largest share of heads pruned.
ChartPanel curve_panel(const ResultsGroup& group, Index n_head, const std::string& title,
                       double to) {
  const Array& curve = group.values("curve");
  const std::vector<std::string>& orders = group.labels("order");
  std::vector<double> shares;
  for (std::size_t step = 0; step < n_curve_step; ++step) {
    shares.push_back(pruned_share_at(step, n_head));
  }
  std::erase_if(shares, [&](double share) { return share > to + 1e-9; });
  const std::vector<double>& deviation = group.values("curve_random_std").values;
  const double baseline = curve(0, 0);
  ChartPanel panel{title, {}, {{"whole model", baseline}}};
  // Drawn from the last order, random, whose band must not hide the others.
  for (std::size_t order = orders.size(); order-- > 0;) {
    Series series{.label = orders[order], .colour = order};
    for (std::size_t step = 0; step < shares.size(); ++step) {
      const double loss = curve(order, step);
      if (orders[order] == "random") {
        const double low =
            loss < baseline ? loss - deviation[step] : std::max(loss - deviation[step], baseline);
        series.add(shares[step], {loss, low, loss + deviation[step]});
      } else {
        series.add(shares[step], loss);
      }
    }
    panel.series.push_back(std::move(series));
  }
  return panel;
}

/// @param n_head  heads that the model has not lost, at least 1.
Figure curve_figure(const ResultsGroup& group, Index n_head) {
  constexpr double enlarged = 0.2;
  std::vector<ChartPanel> panels{curve_panel(group, n_head, "all heads", 1)};
  const bool is_held_out = !group.has("curve_held_out") || group.scalar("curve_held_out") == 1,
             has_enlarged = static_cast<double>(n_head) * enlarged >= 1;
  if (has_enlarged) {
    panels.push_back(curve_panel(group, n_head, "the first 20 %, enlarged", enlarged));
  }
  return {.name = "michel2019_curve",
          .group = group.name,
          .title = "Loss as heads are pruned",
          .caption =
              "Mean loss when a growing share of heads is set to zero, in ascending order of "
              "ablation loss, in ascending order of layer-normalized first-order importance, and "
              "in random order (mean of 5 orders; band: one standard deviation, cut at the whole "
              "model's loss where their mean lies above that). " +
              std::string(is_held_out
                              ? "Even-numbered documents make the orders; odd-numbered documents "
                                "measure the loss."
                              : "The same documents make the orders and measure the loss.") +
              (has_enlarged ? " The right panel enlarges the beginning of the left panel." : ""),
          .source = michel,
          .content = Chart{.panels = std::move(panels),
                           .x_title = "share of heads pruned",
                           .y_title = "loss (nats per token)",
                           .separate_ranges = true}};
}

/// Importance across, the measured loss increase up.
/// @param removed  by head; removed heads are no points.
/// @param variant  of the importance.
ChartPanel importance_panel(const ResultsGroup& group, const std::vector<bool>& removed,
                            const char* variant, const std::string& title) {
  const std::size_t place = group.dimension("variant").index_of(variant);
  const Array importance = group.values("importance").part(place),
              measured = group.values("loss_increase").part(0);
  const std::vector<std::string> names = furthest_names(measured.values, measured.shape[1], 6);
  Series heads = Series::points("heads");
  for (std::size_t head_index = 0; head_index < importance.size(); ++head_index) {
    if (removed[head_index]) continue;
    const Estimate increase = group.variable("loss_increase").estimate(head_index);
    if (increase.has_interval()) heads.label = "heads, 95 % interval";
    heads.add(importance.values[head_index], increase);
    heads.point_labels.push_back(names[head_index]);
  }
  const double rho = group.values("importance_correlation")(place);
  const std::string correlation =
      std::isnan(rho) ? ""
                      : ": ρ = " + std::string(rho < 0 ? "−" : "") + decimals(std::abs(rho), 2);
  return {title + correlation, {std::move(heads)}};
}

Figure importance_figure(const ResultsGroup& group, const std::vector<bool>& removed) {
  const ChartPanel absolute =
      importance_panel(group, removed, "per_example", "absolute, per example");
  ChartPanel prediction = importance_panel(group, removed, "signed", "signed, the prediction");
  const auto [least, most] = std::ranges::minmax(prediction.series.front().x);
  prediction.series.insert(prediction.series.begin(), {.label = "exact prediction",
                                                       .x = {least, most},
                                                       .y = {least, most},
                                                       .colour = guide_series});
  return {.name = "michel2019_importance",
          .group = group.name,
          .title = "First-order importance against ablation",
          .caption =
              "Each point is a head. Up: the measured loss increase when the head is set to zero, "
              "with its 95 % interval where there is one. Across, left panel: the importance of "
              "Michel et al., the mean over documents of |sum of z.g|; it has no sign and predicts "
              "no increase. Across, right panel: signed importance, the loss increase that the "
              "gradient predicts; on the black line the prediction is exact. ρ: Spearman's rank "
              "correlation. Up to six heads furthest out are named, where there is room.",
          .source = michel,
          .content = Chart{.panels = {absolute, prediction},
                           .x_title = "importance (nats per token)",
                           .y_title = "measured loss increase (nats per token)",
                           .separate_ranges = true}};
}

}  // namespace

std::vector<Figure> pruning_figures(const Results& results) {
  const ResultsGroup& group = results.group("pruning");
  const std::vector<bool> removed = removed_heads_of(results);
  const auto n_head = static_cast<Index>(std::ranges::count(removed, false));
  std::vector<Figure> figures{ablation_figure(results), all_but_one_figure(results)};
  if (n_head == 0) return figures;
  figures.push_back(importance_figure(group, removed));
  if (group.has("curve")) figures.push_back(curve_figure(group, n_head));
  return figures;
}

}  // namespace headscope
