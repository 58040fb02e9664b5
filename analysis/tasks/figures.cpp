#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/label_text.hpp"
#include "head_figures.hpp"
#include "headscope/figure.hpp"
#include "report_text.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// Panels of a chart, at most: the first tasks.
constexpr std::size_t most_panels = 12;

const char* const first_tasks =
    " The first tasks that some head changes, at most 12 and in whole rows.";

std::string head_name(const ResultsGroup& group, std::size_t head_index) {
  return head_text(head_index, group.dimension("head").size());
}

/// Tasks whose margin changes significantly without some head.
std::vector<std::size_t> tasks_with_heads(const ResultsGroup& group) {
  const Array q = group.values("margin_change_q").part(0);
  std::vector<std::size_t> found;
  for (std::size_t task = 0; task < q.shape[0]; ++task) {
    if (std::ranges::any_of(q.part(task).values, [](double each) { return each < significant_q; }))
      found.push_back(task);
  }
  return found;
}

/// Those with a panel of their own.
std::vector<std::size_t> shown_tasks(const ResultsGroup& group) {
  std::vector<std::size_t> tasks = tasks_with_heads(group);
  tasks.resize(panels_in_whole_rows(std::min(most_panels, tasks.size())));
  return tasks;
}

Figure heads_figure(const ResultsGroup& group) {
  constexpr std::size_t most_named = 40;  // of more heads, the first of each layer
  const Array change = group.values("margin_change").part(0),
              q = group.values("margin_change_q").part(0);
  const std::vector<std::size_t> tasks = tasks_with_heads(group);
  const std::size_t n_head_total = change.size() / change.shape[0];
  Heatmap map{.row_title = "task",
              .column_title = "head",
              .value_title = "margin change (of the task's largest)",
              .scale = ColourScale::diverging};
  for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
    const bool named =
        n_head_total <= most_named || head_index % group.dimension("head").size() == 0;
    map.column_labels.push_back(named ? head_name(group, head_index) : "");
  }
  HeatmapPanel panel{"", Array({tasks.size(), n_head_total}), Array({tasks.size(), n_head_total})};
  for (std::size_t row = 0; row < tasks.size(); ++row) {
    map.row_labels.push_back(task_name(group, tasks[row]));
    const std::vector<double> changes = change.part(tasks[row]).values,
                              q_values = q.part(tasks[row]).values;
    double most = 0;
    for (const double each : changes) most = std::fmax(most, std::abs(each));
    for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
      panel.values(row, head_index) = changes[head_index] / most;
      panel.marked(row, head_index) = q_values[head_index] < significant_q ? 1 : 0;
    }
  }
  map.panels.push_back(std::move(panel));
  return {.name = "tasks_heads",
          .group = group.name,
          .title = "What each task loses without a head",
          .caption =
              "Mean margin (log probability of the good side minus that of the bad side) with the "
              "head set to zero, minus that of the whole model, as a share of the task's largest "
              "change. A dot marks changes with q < 0.05 over all heads and tasks (paired t-test, "
              "Benjamini-Hochberg); tasks that no head changes are left out.",
          .source = "Warstadt et al. 2020; Michel et al. 2019",
          .content = std::move(map)};
}

Figure carriers_figure(const ResultsGroup& group) {
  constexpr std::size_t most_heads = 5;
  const Variable& change = group.variable("margin_change");
  const std::size_t n_task = change.values.shape[1],
                    n_head_total = change.values.size() / 2 / n_task;
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= most_heads; ++i) places.push_back(std::to_string(i));
  std::vector<ChartPanel> panels;
  for (const std::size_t task : shown_tasks(group)) {
    std::vector<std::size_t> order(n_head_total);
    std::iota(order.begin(), order.end(), task * n_head_total);
    std::erase_if(order, [&](std::size_t i) { return std::isnan(change.values.values[i]); });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return change.values.values[i]; });
    order.resize(std::min(most_heads, order.size()));
    Series heads = Series::points();
    for (const std::size_t i : order) {
      const Estimate change_of_head = change.estimate(i);
      heads.add(static_cast<double>(heads.x.size()),
                {-change_of_head.value, -change_of_head.high, -change_of_head.low});
      heads.point_labels.push_back(head_name(group, i % n_head_total));
    }
    heads.keep_intervals_of_all();
    panels.push_back({task_name(group, task), {std::move(heads)}});
  }
  return {.name = "tasks_best_heads",
          .group = group.name,
          .title = "The heads that carry each task",
          .caption = std::string("The five heads without which the task loses most of its mean "
                                 "margin, with 95 % intervals over resampled pairs.") +
                     first_tasks,
          .source = "Warstadt et al. 2020; Michel et al. 2019",
          .content = Chart{.panels = std::move(panels),
                           .x_title = "head, by margin lost",
                           .y_title = "margin lost (nats per pair)",
                           .x_labels = places,
                           .own_axes = true}};
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

std::vector<double> margin_lost(const ResultsGroup& group, std::size_t task) {
  return group.values("margin_change").part(0).part(task).mapped(std::negate()).values;
}

Figure direct_figure(const ResultsGroup& group) {
  std::vector<ChartPanel> panels;
  for (const std::size_t task : shown_tasks(group)) {
    panels.push_back({task_name(group, task),
                      {head_points(group, group.values("direct_effect").part(task).values,
                                   margin_lost(group, task))}});
  }
  return {.name = "tasks_direct_total",
          .group = group.name,
          .title = "Direct against total effect",
          .caption =
              std::string(
                  "Each point is a head. Across: its own part of the difference between the good "
                  "and the bad token's logits at the first token that differs. Up: the mean margin "
                  "lost when it is set to zero. Heads high up at the left work through later "
                  "heads; heads at the right and low down are made up for by later ones. The three "
                  "heads furthest from 0 are named.") +
              first_tasks,
          .source = "Elhage et al. 2021",
          .content = Chart{.panels = std::move(panels),
                           .x_title = "direct effect (logits)",
                           .y_title = "margin lost (nats per pair)",
                           .own_axes = true}};
}

/// Nothing unless the classification has a task's relation.
std::optional<Figure> looks_does_figure(const ResultsGroup& group, const Results& results) {
  if (!results.has("classification")) return std::nullopt;
  const ResultsGroup& classification = results.group("classification");
  if (!classification.has("relation_accuracy")) return std::nullopt;
  std::vector<ChartPanel> panels;
  for (std::size_t task = 0; task < group.dimension("task").size(); ++task) {
    const std::string& name = group.variable("relation").text[task];
    const std::optional<std::size_t> relation = classification.dimension("relation").place_of(name);
    if (!relation || panels.size() == most_panels) continue;
    const Array accuracy = classification.values("relation_accuracy").part(*relation);
    std::vector<double> best = accuracy.part(0).values;
    for (std::size_t direction = 1; direction < accuracy.shape[0]; ++direction) {
      const std::vector<double> other = accuracy.part(direction).values;
      for (std::size_t head_index = 0; head_index < best.size(); ++head_index) {
        best[head_index] = std::fmax(best[head_index], other[head_index]);
      }
    }
    panels.push_back({task_name(group, task) + " (" + name + ")",
                      {head_points(group, best, margin_lost(group, task))}});
  }
  if (panels.empty()) return std::nullopt;
  panels.resize(panels_in_whole_rows(panels.size()));
  return Figure{.name = "tasks_looks_does",
                .group = group.name,
                .title = "Where a head looks against what it does",
                .caption =
                    "Each point is a head. Across: how often its largest attention "
                    "follows the task's relation in the corpus, the better of the two "
                    "directions. Up: the mean margin the task loses when the head is set "
                    "to zero. The three heads furthest from 0 are named. The first tasks "
                    "that name a relation, at most 12 and in whole rows.",
                .source = "Clark et al. 2019; Warstadt et al. 2020",
                .content = Chart{.panels = std::move(panels),
                                 .x_title = "relation accuracy",
                                 .y_title = "margin lost (nats per pair)"}};
}

}  // namespace

std::vector<Figure> tasks_figures(const Results& results) {
  const ResultsGroup& group = results.group("tasks");
  std::vector<Figure> figures;
  if (!tasks_with_heads(group).empty()) {
    figures = {heads_figure(group), carriers_figure(group), direct_figure(group)};
  }
  if (auto figure = looks_does_figure(group, results)) figures.push_back(std::move(*figure));
  return figures;
}

}  // namespace headscope
