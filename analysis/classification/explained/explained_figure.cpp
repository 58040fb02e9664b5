#include <algorithm>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "classification/explained/explained.hpp"
#include "head_figures.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_labels_drawn = 40;

}  // namespace

std::optional<Figure> labels_explained_figure(const ResultsGroup& group) {
  if (!group.has("explained_verdict")) return std::nullopt;
  const std::vector<double>& verdicts = group.values("explained_verdict").values;
  const auto verdict = [&](std::size_t i) { return static_cast<LabelVerdict>(verdicts[i]); };
  const Variable &share = group.variable("explained"),
                 &control = group.variable("explained_control");
  const Array& increase = group.values("mean_ablation_increase");
  const std::size_t n_head_total = increase.size();
  std::vector<std::size_t> order = numbers_where(  // of labels that were measured
      verdicts.size(), [&](std::size_t i) { return verdict(i) != not_measured; });
  if (order.empty()) return std::nullopt;
  const std::size_t n_measured = order.size();
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return increase.values[i % n_head_total]; });
  order.resize(std::min(most_labels_drawn, n_measured));

  Series of_explained = Series::points("explained", 0);
  Series of_unexplained = Series::points("unexplained", 5);
  Series controls = Series::points("another type's place", 1);
  controls.shift = 0.25;
  std::vector<std::string> rows, same;
  const std::vector<std::string> types = spaced(group.labels("head_type"));
  for (const std::size_t i : order) {
    const std::size_t head_index = i % n_head_total;
    const double row = static_cast<double>(rows.size());
    (verdict(i) == explained ? of_explained : of_unexplained)
        .add(row, drawn_share(share.estimate(i)));
    controls.add(row, drawn_share(control.estimate(i)));
    if (is_mostly_control(group, i)) {
      same.push_back(head_text(head_index, increase.shape[1]) + " (" +
                     percent(group.values("explained_control_overlap").values[i]) + ")");
    }
    rows.push_back(head_text(head_index, increase.shape[1]) + "  " + types[i / n_head_total] +
                   "  " + number_text(increase.values[head_index], 2));
  }
  Chart chart =
      rows_chart("head, label, effect on the loss (nats)", "share of the head's effect that stays",
                 std::move(rows), {of_explained, of_unexplained, controls});
  chart.y_low = lowest_share - 0.05;
  chart.y_high = highest_share + 0.05;
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
          "Beside each head and label: the loss increase per token when the head's output is "
          "replaced by its mean. The points show the share of this effect that stays when the "
          "head's attention is replaced by exactly the place that its label names, 1 - (L_B - L) / "
          "(L_mean - L), with a 95 % interval (documents resampled). 1: the head does no more than "
          "its label says; 0: the label is worth no more than the head's mean output; below 0: the "
          "label misleads (shares below -1 are drawn at -1, those above 1.2 at 1.2). Another "
          "type's place is the control. Unexplained: the interval does not lie above 0, or the "
          "paired difference from the control does not. Labels that name no place and labels of "
          "heads without a measurable effect are left out." +
          (same.empty()
               ? ""
               : " At more than half of the queries for which the label names a place the control "
                 "is the same place, so that only the other queries can tell the two apart: " +
                     joined(same, ", ") + ".") +
          drawn,
      .source = headscope_definition,
      .content = std::move(chart)};
}

}  // namespace headscope
