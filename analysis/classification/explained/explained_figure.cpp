#include <algorithm>
#include <numeric>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "classification/explained/explained.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_labels_drawn = 40;
constexpr double lowest_share = -1;

void add_share(double row, const Estimate& share, Series& series) {
  const auto drawn = [](double value) { return std::max(value, lowest_share); };
  series.add(row, {drawn(share.value), drawn(share.low), drawn(share.high)});
}

}  // namespace

std::optional<Figure> labels_explained_figure(const ResultsGroup& group) {
  if (!group.has("explained_verdict")) return std::nullopt;
  const std::vector<double>& verdicts = group.values("explained_verdict").values;
  const auto verdict = [&](std::size_t i) { return static_cast<LabelVerdict>(verdicts[i]); };
  const Variable &share = group.variable("explained"),
                 &control = group.variable("explained_control"),
                 &increase = group.variable("mean_ablation_increase");
  const std::size_t n_head_total = increase.values.size(), n_head = increase.values.shape[1];
  std::vector<std::size_t> order;  // of labels that were measured
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdict(i) != not_measured) order.push_back(i);
  }
  if (order.empty()) return std::nullopt;
  const std::size_t n_measured = order.size();
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return increase.values.values[i % n_head_total]; });
  order.resize(std::min(most_labels_drawn, n_measured));

  Series of_explained, of_unexplained, controls;
  of_explained.label = "explained";
  of_unexplained.label = "unexplained";
  controls.label = "another type's place";
  for (Series* const series : {&of_explained, &of_unexplained, &controls}) {
    series->style = Series::Style::points;
  }
  of_explained.colour = 0;
  of_unexplained.colour = 5;
  controls.colour = 1;
  controls.shift = 0.25;
  Chart chart;
  const std::vector<std::string> types = spaced(group.dimensions.at("head_type").text);
  for (const std::size_t i : order) {
    const std::size_t head_index = i % n_head_total;
    const double row = static_cast<double>(chart.x_labels.size());
    add_share(row, share.estimate(i), verdict(i) == explained ? of_explained : of_unexplained);
    add_share(row, control.estimate(i), controls);
    chart.x_labels.push_back(HeadIndex::of(head_index, n_head).text() + "  " +
                             types[i / n_head_total] + "  " +
                             number_text(increase.values.values[head_index], 2));
  }
  ChartPanel panel;
  for (Series* const series : {&of_explained, &of_unexplained, &controls}) {
    if (!series->x.empty()) panel.series.push_back(std::move(*series));
  }
  chart.panels = {std::move(panel)};
  chart.horizontal = true;
  chart.x_title = "head, label, effect on the loss (nats)";
  chart.y_title = "share of the head's effect that stays";
  chart.y_low = lowest_share;
  chart.y_high = 1.25;
  const std::string drawn = n_measured > order.size()
                                ? " The " + std::to_string(order.size()) + " of " +
                                      std::to_string(n_measured) +
                                      " labels whose heads matter most are drawn."
                                : "";
  return Figure{
      .name = "labels_explained",
      .group = group.name,
      .title = "Does the label explain what the head does?",
      .caption =
          "Beside each head and label: how much the loss per token rises when the head's output is "
          "replaced by its mean. Each head runs with its attention replaced by exactly what its "
          "label says; the share of its effect on the loss that stays, "
          "1 - (L_B - L) / (L_mean - L), with a 95 % interval (documents resampled). 1: the head "
          "does no more than its label says; 0: the label is worth no more than the head's mean "
          "output; below: it misleads (shares below -1 are drawn at -1). Another type's place: the "
          "same with that place, as a control. Unexplained: the interval does not lie above 0 and, "
          "paired, above the control. Labels of heads whose mean ablation costs nothing "
          "measurable, and those that name no place, are left out." +
          drawn,
      .source = own_definition,
      .content = std::move(chart)};
}

}  // namespace headscope
