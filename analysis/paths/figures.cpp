#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "paths/circuit_size.hpp"
#include "paths/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Tasks with a figure of their own, and panels of a chart, at most.
constexpr std::size_t most_tasks = 12;

const char* const path_panels =
    " Panels: the first tasks that the model is shown to do, at most 12 in full rows.";

/// Tasks whose circuit is known, the first ones.
std::vector<std::size_t> tasks_with_circuits(const ResultsGroup& group) {
  const Array& fewest = group.values("circuit_edges_90");
  std::vector<std::size_t> tasks =
      numbers_where(fewest.size(), [&](std::size_t task) { return std::isfinite(fewest(task)); });
  tasks.resize(std::min(tasks.size(), most_tasks));
  return tasks;
}

/// Faithfulness by number of edges, from the first circuit with edges on.
/// @param first  place of the circuit without edges.
Series faithfulness_line(const std::string& label, const Variable& faithfulness, std::size_t first,
                         const std::vector<double>& steps) {
  Series line{.label = label};
  for (std::size_t step = 1; step < steps.size(); ++step) {
    const Estimate share = faithfulness.estimate(first + step);
    if (!std::isnan(share.value)) line.add(steps[step], share);
  }
  line.drop_partial_intervals();
  return line;
}

Figure faithfulness_figure(const ResultsGroup& group, const std::vector<std::size_t>& tasks) {
  const Variable& faithfulness = group.variable("faithfulness");
  const std::vector<double>& steps = group.dimension("step").values;
  const std::vector<std::string> orders{"largest integrated effect first",
                                        "largest first-order effect first", "random order"};
  std::vector<ChartPanel> panels;
  for (const std::size_t task : tasks) {
    ChartPanel panel{task_name(group, task), {}, {{percent(kept_share), kept_share}}};
    for (std::size_t order = 0; order < orders.size(); ++order) {
      panel.series.push_back(faithfulness_line(
          orders[order], faithfulness, (task * orders.size() + order) * steps.size(), steps));
    }
    if (group.has("faithfulness_given")) {
      Series line =
          faithfulness_line("order of the file of --paths-ordering",
                            group.variable("faithfulness_given"), task * steps.size(), steps);
      if (!line.x.empty()) panel.series.push_back(std::move(line));
    }
    panels.push_back(std::move(panel));
  }
  panels.resize(panels_in_whole_rows(panels.size()));
  return {.name = "paths_faithfulness",
          .group = group.name,
          .title = "How few edges do a task",
          .caption = std::string("Margin with some edges kept and all others ablated, from 0 with "
                                 "none kept to 1 with all; 95 % intervals over resampled pairs. "
                                 "Shares below -0.5 or above 1.5 lie outside the panels.") +
                     path_panels,
          .source = "Conmy et al. 2023; Syed et al. 2023",
          .content = Chart{.panels = std::move(panels),
                           .x_title = "edges kept",
                           .y_title = "share of the margin kept",
                           .y_low = -0.5,
                           .y_high = 1.5,
                           .log_x = true}};
}

/// Points of a task's edges ablated exactly: an effect from gradients across, the exact one up.
/// @param effects  node x port.
Series gradient_exact_points(const ResultsGroup& group, std::size_t task, const Array& effects) {
  const Variable &change = group.variable("edge_change"), &nodes = group.variable("edge_node"),
                 &ports = group.variable("edge_port");
  const std::size_t n_edge = group.dimension("edge").size();
  Series points = Series::points();
  for (std::size_t i = task * n_edge; i < (task + 1) * n_edge; ++i) {
    if (nodes.text[i].empty()) continue;
    points.add(effects(group.dimension("node").index_of(nodes.text[i]),
                       group.dimension("port").index_of(ports.text[i])),
               change.estimate(i));
    points.point_labels.push_back(points.x.size() <= 3 ? edge_text(nodes.text[i], ports.text[i])
                                                       : "");
  }
  points.drop_partial_intervals();
  return points;
}

/// Nothing where no edge was ablated exactly.
std::optional<Figure> first_order_exact_figure(const ResultsGroup& group,
                                               const std::vector<std::size_t>& tasks) {
  std::vector<ChartPanel> panels;
  for (const std::size_t task : tasks) {
    Series first_order =
               gradient_exact_points(group, task, group.values("edge_first_order").part(task)),
           integrated =
               gradient_exact_points(group, task, group.values("edge_integrated").part(task));
    if (integrated.x.empty()) continue;
    first_order.label = "first order";
    first_order.point_labels.clear();
    integrated.label = "integrated gradients";
    panels.push_back({task_name(group, task), {std::move(integrated), std::move(first_order)}});
  }
  if (panels.empty()) return std::nullopt;
  panels.resize(panels_in_whole_rows(panels.size()));
  return Figure{
      .name = "paths_first_order_exact",
      .group = group.name,
      .title = "Effects of edges from gradients against exact ones",
      .caption = std::string(
                     "Each point is an edge; the edges with the largest integrated effects are "
                     "shown. Across: the edge's effect on the margin by gradients, over all pairs. "
                     "Up: the change of the margin when this edge alone is ablated, with its 95 % "
                     "interval over pairs. Of the three largest, those with room are named.") +
                 path_panels,
      .source = "Goldowsky-Dill et al. 2023; Syed et al. 2023; Hanna et al. 2024",
      .content = Chart{.panels = std::move(panels),
                       .x_title = "effect by gradients (nats per pair)",
                       .y_title = "exact effect (nats per pair)",
                       .separate_ranges = true}};
}

/// The correlation above that of relabelled heads, so that 0 is chance. Nothing where no task that
/// the model is shown to do has one.
std::optional<Figure> paths_composition_figure(const ResultsGroup& group) {
  if (!group.has("composition_correlation_chance")) return std::nullopt;
  const Variable& correlation = group.variable("composition_correlation");
  const Array& chance = group.values("composition_correlation_chance");
  const std::vector<std::string> kinds{"by queries", "by keys", "by values"};
  std::vector<std::string> tasks;
  std::vector<Series> series;
  for (const std::string& kind : kinds) {
    series.push_back(Series::points(kind));
    series.back().shift = 0.25 * (static_cast<double>(series.size()) - 2);
  }
  for (std::size_t task = 0; task < chance.shape[0]; ++task) {
    if (group.values("can_do")(task) == 0) continue;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (std::isnan(chance(task, kind))) continue;
      Estimate above_chance = correlation.estimate(task * kinds.size() + kind);
      for (double* const bound : {&above_chance.value, &above_chance.low, &above_chance.high}) {
        *bound -= chance(task, kind);
      }
      series[kind].add(static_cast<double>(tasks.size()), above_chance);
    }
    tasks.push_back(task_name(group, task));
  }
  if (std::ranges::all_of(series,
                          [](const Series& drawn_series) { return drawn_series.x.empty(); })) {
    return std::nullopt;
  }
  return Figure{
      .name = "paths_composition",
      .group = group.name,
      .title = "Composition in the weights against edges on tasks",
      .caption =
          "Spearman's rank correlation, over edges from a head to a head of a later layer, between "
          "composition measured in the weights and the size of the edge's integrated effect on the "
          "task's margin, less the mean correlation with heads relabelled at random within layers "
          "(0: relabelled heads). Lines: 95 % intervals, heads relabelled. Left out are tasks that "
          "the model is not shown to do.",
      .source = "Elhage et al. 2021; Hanna et al. 2024",
      .content = rows_chart("task", "rank correlation above chance", std::move(tasks),
                            std::move(series), {{"relabelled heads", 0}})};
}

}  // namespace

std::vector<Figure> paths_figures(const Results& results) {
  const ResultsGroup& group = results.group("paths");
  std::vector<Figure> figures;
  const std::vector<std::size_t> tasks = tasks_with_circuits(group);
  const std::optional<HeadTypes> types = head_types(results);
  for (const std::size_t task : tasks) {
    std::optional<Figure> circuit = circuit_figure(group, task, types);
    if (circuit) figures.push_back(std::move(*circuit));
  }
  if (!tasks.empty()) {
    figures.push_back(faithfulness_figure(group, tasks));
    if (auto figure = first_order_exact_figure(group, tasks)) figures.push_back(*std::move(figure));
  }
  if (auto figure = paths_composition_figure(group)) figures.push_back(*std::move(figure));
  return figures;
}

}  // namespace headscope
