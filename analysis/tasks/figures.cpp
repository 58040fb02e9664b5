#include <algorithm>
#include <cmath>

#include "head_figures.hpp"
#include "headscope/figure.hpp"
#include "report_text.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// Panels of a chart, at most: the first tasks.
constexpr std::size_t most_panels = 12;

const char* const first_tasks =
    " Panels: the first tasks for which some head costs margin by both ablations, at most 12 in "
    "full rows.";

std::string head_name(const ResultsGroup& group, std::size_t head_index) {
  return head_text(head_index, group.dimension("head").size());
}

/// Tasks that the model is shown to do and of which some head loses margin by both ablations.
std::vector<std::size_t> tasks_with_heads(const ResultsGroup& group) {
  const Array& least = group.values("share_lost_least");
  return numbers_where(least.shape[0], [&](std::size_t task) {
    return std::ranges::any_of(least.part(task).values, [](double value) { return value > 0; });
  });
}

/// Those with a panel of their own.
std::vector<std::size_t> shown_tasks(const ResultsGroup& group) {
  std::vector<std::size_t> tasks = tasks_with_heads(group);
  tasks.resize(panels_in_whole_rows(std::min(most_panels, tasks.size())));
  return tasks;
}

Figure heads_figure(const Results& results) {
  const ResultsGroup& group = results.group("tasks");
  constexpr std::size_t most_named = 40;  // of more heads, the first of each layer
  const std::vector<std::size_t> tasks = tasks_with_heads(group);
  const std::size_t n_head = group.dimension("head").size(),
                    n_head_total = n_head * group.dimension("layer").size();
  Heatmap map{.row_title = "task",
              .column_title = "head",
              .value_title = "share of the margin lost",
              .scale = ColourScale::diverging,
              .low = -1,
              .high = 1};
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    const bool named = n_head_total <= most_named || head_index % n_head == 0;
    map.column_labels.push_back(named ? head_name(group, head_index) : "");
  }
  for (const std::size_t task : tasks) map.row_labels.push_back(task_name(group, task));
  for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
    const Array change = group.values("margin_change").part(ablation),
                q = group.values("margin_change_q").part(ablation);
    HeatmapPanel panel{group.labels("ablation")[ablation] + " ablation",
                       Array({tasks.size(), n_head_total}), Array({tasks.size(), n_head_total})};
    for (std::size_t row = 0; row < tasks.size(); ++row) {
      const double margin = group.values("margin")(tasks[row]);
      const std::vector<double> changes =
                                    without_removed_heads(results, change.part(tasks[row])).values,
                                q_values = q.part(tasks[row]).values;
      for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
        panel.values(row, head_index) = std::clamp(-changes[head_index] / margin, -1.0, 1.0);
        panel.marked(row, head_index) = q_values[head_index] < significant_q ? 1 : 0;
      }
    }
    map.panels.push_back(std::move(panel));
  }
  return {.name = "tasks_heads",
          .group = group.name,
          .title = "What each task loses without a head",
          .caption =
              "Mean margin of the whole model minus mean margin with the head ablated, as a share "
              "of the task's margin. Margin: log probability of the good side minus log "
              "probability of the bad side. Shares beyond 1 have the colour of 1. A dot "
              "marks changes with q < 0.05 over all heads and tasks (paired t-test, "
              "Benjamini-Hochberg). Left out are tasks that the model is not shown to do, and "
              "tasks for which no head costs margin by both ablations.",
          .source = "Warstadt et al. 2020; Michel et al. 2019",
          .content = std::move(map)};
}

/// The heads that both ablations find, by the smaller share, the largest first.
std::vector<std::size_t> carriers(const ResultsGroup& group, std::size_t task, std::size_t most) {
  const std::vector<double> least = group.values("share_lost_least").part(task).values;
  std::vector<std::size_t> order = ranking(least);
  std::erase_if(order, [&](std::size_t i) { return !(least[i] > 0); });
  order.resize(std::min(most, order.size()));
  return order;
}

Figure carriers_figure(const Results& results) {
  const ResultsGroup& group = results.group("tasks");
  constexpr std::size_t most_heads = 5;
  constexpr double apart = 0.1;
  const Variable& change = group.variable("margin_change");
  const std::size_t n_task = change.values.shape[1],
                    n_head_total = change.values.size() / n_task_ablation / n_task;
  std::vector<ChartPanel> panels;
  for (const std::size_t task : shown_tasks(group)) {
    ChartPanel panel{task_name(group, task)};
    const double margin = group.values("margin")(task);
    const std::vector<std::size_t> heads_shown = carriers(group, task, most_heads);
    for (const std::size_t head_index : heads_shown) {
      panel.x_labels.push_back(head_name(group, head_index));
    }
    for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
      Series heads = Series::points(group.labels("ablation")[ablation] + " ablation");
      heads.shift = ablation == 0 ? -apart : apart;
      for (const std::size_t head_index : heads_shown) {
        const Estimate lost =
            change.estimate((ablation * n_task + task) * n_head_total + head_index);
        heads.add(static_cast<double>(heads.x.size()),
                  {-lost.value / margin, -lost.high / margin, -lost.low / margin});
      }
      heads.drop_partial_intervals();
      panel.series.push_back(std::move(heads));
    }
    panels.push_back(std::move(panel));
  }
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= most_heads; ++i) places.push_back(std::to_string(i));
  return {
      .name = "tasks_best_heads",
      .group = group.name,
      .title = "The heads that carry each task",
      .caption =
          std::string("Share of the mean margin lost without a head, by zero and by mean ablation, "
                      "with 95 % intervals over resampled pairs. Shown are at most five heads that "
                      "both ablations find, those with the largest smaller share first.") +
          first_tasks,
      .source = "Warstadt et al. 2020; Michel et al. 2019",
      .content = Chart{.panels = std::move(panels),
                       .x_title = "head, by the smaller share",
                       .y_title = "share of the margin lost",
                       .x_labels = std::move(places),
                       .separate_ranges = true}};
}

/// A head per point; the ones furthest out along y are named.
Series head_points(const ResultsGroup& group, const std::vector<double>& x,
                   const std::vector<double>& y) {
  Series heads = Series::points("heads");
  heads.x = x;
  heads.y = y;
  heads.point_labels = furthest_names(y, group.dimension("head").size(), 3);
  return heads;
}

/// NaN for removed heads.
std::vector<double> margin_lost(const Results& results, std::size_t task) {
  const Array change = results.group("tasks").values("margin_change").part(0).part(task);
  return without_removed_heads(results, change.mapped(std::negate())).values;
}

/// Heads by direct and total effect: those that later heads make up for, and the others.
std::vector<Series> repair_series(const Results& results, std::size_t task) {
  const ResultsGroup& group = results.group("tasks");
  const Array direct = without_removed_heads(results, group.values("direct_effect").part(task)),
              repair = group.values("self_repair").part(task);
  const std::size_t n_head_total = direct.size();
  Series repaired = Series::points("made up for"), other_heads = Series::points("other heads"),
         diagonal{.label = "total effect as direct", .colour = no_colour};
  std::vector<double> totals, sizes;
  for (std::size_t i = 0; i < n_head_total; ++i) {
    totals.push_back(direct.values[i] - repair.values[i]);
    sizes.push_back(std::max(std::abs(direct.values[i]), std::abs(totals.back())));
  }
  const std::vector<std::string> names = furthest_names(sizes, group.dimension("head").size(), 3);
  double low = 0, high = 0;
  for (std::size_t i = 0; i < n_head_total; ++i) {
    if (std::isnan(direct.values[i])) continue;
    Series& series = is_made_up_for(group, task, i) ? repaired : other_heads;
    series.add(direct.values[i], totals[i]);
    series.point_labels.push_back(names[i]);
    low = std::fmin(low, direct.values[i]);
    high = std::fmax(high, direct.values[i]);
  }
  diagonal.add(low, low);
  diagonal.add(high, high);
  return {std::move(diagonal), std::move(repaired), std::move(other_heads)};
}

Figure direct_figure(const Results& results) {
  const ResultsGroup& group = results.group("tasks");
  std::vector<ChartPanel> panels;
  for (const std::size_t task : shown_tasks(group)) {
    panels.push_back({task_name(group, task), repair_series(results, task)});
  }
  return {.name = "tasks_direct_total",
          .group = group.name,
          .title = "Direct against total effect",
          .caption =
              std::string(
                  "Each point is a head. Across: what the head adds directly to the logit of the "
                  "good token minus the logit of the bad token, at the first token that differs. "
                  "Up: how much of this difference is lost when the head is set to zero. On the "
                  "diagonal, total effect and direct effect are equal. Below the diagonal, later "
                  "parts make up for the head (self-repair; marked where the intervals of direct "
                  "effect and repair lie above 0 and both are at least 1 % of the task's margin). "
                  "Above the diagonal, the head also works through "
                  "later parts. Up to three heads furthest from 0 are named.") +
              first_tasks,
          .source = "McGrath et al. 2023; Rushing & Nanda 2024",
          .content = Chart{.panels = std::move(panels),
                           .x_title = "direct effect (logits)",
                           .y_title = "total effect (logits)",
                           .separate_ranges = true}};
}

/// Nothing unless the classification has a task's relation.
std::optional<Figure> looks_does_figure(const Results& results) {
  if (!results.has("classification")) return std::nullopt;
  const ResultsGroup& group = results.group("tasks");
  const ResultsGroup& classification = results.group("classification");
  if (!classification.has("relation_accuracy")) return std::nullopt;
  std::vector<ChartPanel> panels;
  for (std::size_t task = 0; task < group.dimension("task").size(); ++task) {
    const std::string& name = group.texts("relation")[task];
    const std::optional<std::size_t> relation = classification.dimension("relation").place_of(name);
    const bool is_shown = relation && group.values("has_margin")(task) == 1;
    if (!is_shown || panels.size() == most_panels) continue;
    const std::vector<double> lost = margin_lost(results, task);
    if (finite_values(lost).empty()) continue;
    const Array accuracy = classification.values("relation_accuracy").part(*relation);
    std::vector<double> best = accuracy.part(0).values;
    for (std::size_t direction = 1; direction < accuracy.shape[0]; ++direction) {
      const std::vector<double> other = accuracy.part(direction).values;
      for (std::size_t head_index = 0; head_index < best.size(); ++head_index) {
        best[head_index] = std::fmax(best[head_index], other[head_index]);
      }
    }
    panels.push_back(
        {task_name(group, task) + " (" + name + ")", {head_points(group, best, lost)}});
  }
  if (panels.empty()) return std::nullopt;
  panels.resize(panels_in_whole_rows(panels.size()));
  return Figure{
      .name = "tasks_looks_does",
      .group = group.name,
      .title = "Where a head looks against what it does",
      .caption =
          "Each point is a head. Across: how often its largest attention follows the "
          "task's relation in the corpus, the better of the two directions. Up: the mean "
          "margin the task loses when the head is set to zero. Up to three heads furthest "
          "from 0 are named. Panels: the first tasks that the model is shown to do and "
          "that name a relation, at most 12 in full rows.",
      .source = "Clark et al. 2019; Warstadt et al. 2020",
      .content = Chart{.panels = std::move(panels),
                       .x_title = "relation accuracy",
                       .y_title = "margin lost (nats per pair)"}};
}

}  // namespace

std::vector<Figure> tasks_figures(const Results& results) {
  std::vector<Figure> figures;
  if (!tasks_with_heads(results.group("tasks")).empty()) {
    figures = {heads_figure(results), carriers_figure(results), direct_figure(results)};
  }
  if (auto figure = looks_does_figure(results)) figures.push_back(std::move(*figure));
  return figures;
}

}  // namespace headscope
