#include <algorithm>
#include <cmath>
#include <span>

#include "base/file_names.hpp"
#include "base/head_range.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "paths/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Tasks with a figure of their own, panels of a chart, and edges of a graph, at most.
constexpr std::size_t most_tasks = 12, most_graph_edges = 100;

const char* const path_panels =
    " Panels: the first tasks that the model is shown to do, at most 12 in full rows.";

/// Tasks whose circuit is known, the first ones.
std::vector<std::size_t> tasks_with_circuits(const ResultsGroup& group) {
  const Array& fewest = group.values("circuit_edges_90");
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < fewest.size() && tasks.size() < most_tasks; ++task) {
    if (std::isfinite(fewest(task))) tasks.push_back(task);
  }
  return tasks;
}

/// Where heads lie: layers from left to right, a layer's heads upwards; and who reads by which
/// port.
class GraphLayout {
 public:
  explicit GraphLayout(const ResultsGroup& group)
      : nodes_(group.dimension("node")), ports_(group.labels("port")) {
    for (const std::string& node : nodes_.text) {
      n_head_ += node.starts_with("L0H") ? 1 : 0;
      n_layer_ += node.starts_with("MLP") ? 1 : 0;
    }
  }

  /// A head with its place, name and mark.
  Graph::Node node(std::size_t node) const {
    const std::size_t layer = head_index(node) / n_head_, head = head_index(node) % n_head_;
    return {nodes_.text[node], std::to_string(head), static_cast<double>(layer),
            static_cast<double>(head)};
  }
  /// The heads that read by a port, several where they share keys and values.
  std::vector<std::size_t> owners(std::size_t port) const {
    std::vector<std::size_t> found;
    for (const std::string& name : heads_in(ports_[port].substr(0, ports_[port].rfind('.')))) {
      found.push_back(nodes_.index_of(name));
    }
    return found;
  }
  /// 'q', 'k' or 'v'.
  char kind(std::size_t port) const { return ports_[port].back(); }
  std::size_t n_node() const { return nodes_.text.size(); }
  std::size_t n_layer() const { return n_layer_; }
  std::size_t n_head() const { return n_head_; }
  /// Of a node that is a head.
  std::size_t head_index(std::size_t node) const {
    return (node - 1) / (n_head_ + 1) * n_head_ + (node - 1) % (n_head_ + 1);
  }

 private:
  const Dimension& nodes_;
  const std::vector<std::string>& ports_;
  std::size_t n_head_ = 0, n_layer_ = 0;
};

/// The kind of a head, added to the graph's where it is the first of it.
std::size_t node_kind(std::size_t head_index, const std::optional<HeadTypes>& types, Graph& graph) {
  Graph::Kind kind{"other head", no_colour};
  if (types && types->primary[head_index]) {
    kind = {spaced(types->names[*types->primary[head_index]]) + " head",
            *types->primary[head_index]};
  }
  const auto same = std::ranges::find(graph.node_kinds, kind.label, &Graph::Kind::label);
  const auto place = static_cast<std::size_t>(same - graph.node_kinds.begin());
  if (same == graph.node_kinds.end()) graph.node_kinds.push_back(std::move(kind));
  return place;
}

/// @param edges  between heads.
Graph circuit_graph(const ResultsGroup& group, std::span<const CircuitEdge> edges,
                    const std::optional<HeadTypes>& types) {
  const GraphLayout layout(group);
  Graph graph;
  graph.column_title = "layer";
  graph.row_title = "head";
  graph.value_title = "nats per pair";
  for (std::size_t l = 0; l < layout.n_layer(); ++l) {
    graph.column_labels.push_back(std::to_string(l));
  }
  for (std::size_t h = 0; h < layout.n_head(); ++h) graph.row_labels.push_back(std::to_string(h));
  graph.edge_kinds = {{"read by queries", 3, true}, {"read by keys", 0}, {"read by values", 2}};
  const std::string kinds = "qkv";
  std::vector<std::optional<std::size_t>> place(layout.n_node());
  const auto place_of = [&](std::size_t node) {
    if (!place[node]) {
      place[node] = graph.nodes.size();
      graph.nodes.push_back(layout.node(node));
      graph.nodes.back().kind = node_kind(layout.head_index(node), types, graph);
    }
    return *place[node];
  };
  for (const CircuitEdge& edge : edges) {
    const std::size_t from = place_of(edge.node);
    for (const std::size_t owner : layout.owners(edge.port)) {
      graph.edges.push_back(
          {from, place_of(owner), kinds.find(layout.kind(edge.port)), edge.change.value});
    }
  }
  return graph;
}

/// ` Left out: 12 edges that matter from the embeddings or from or to an MLP or the logits, the
/// largest embed → L0H0 by keys (-3.2 nats, interval -3.5 to -2.9).`; empty if there are none.
std::string left_out_text(const ResultsGroup& group, std::span<const CircuitEdge> edges) {
  if (edges.empty()) return "";
  const CircuitEdge& largest = edges.front();
  return " Left out: " + count_text(edges.size(), "edge") +
         " that matter from the embeddings, or from or to an MLP or the logits, the largest " +
         edge_text(group.labels("node")[largest.node], group.labels("port")[largest.port]) + " (" +
         margin_text(largest.change) + ").";
}

/// Nothing where no edge between heads matters.
std::optional<Figure> circuit_figure(const ResultsGroup& group, std::size_t task,
                                     const std::optional<HeadTypes>& types) {
  std::vector<CircuitEdge> edges = circuit_of(group, task);
  const auto others = std::ranges::stable_partition(
      edges, [&](const CircuitEdge& edge) { return is_between_heads(group, edge); });
  const std::span between(edges.begin(), others.begin());
  if (between.empty()) return std::nullopt;
  return Figure{
      .name = "circuit_" + file_names(group.labels("task"))[task],
      .group = group.name,
      .title = "The circuit of " + task_name(group, task),
      .caption =
          "The edges between heads that matter, of those ablated exactly: without such an edge "
          "alone the margin changes by at least 1 %, with q < 0.05; at most the 100 largest. "
          "Layers from left to right. Heads have the colour of their type, edges that of the port "
          "that reads; an edge to keys or values that heads share runs to each of them; an edge is "
          "as wide as the margin changes without it." +
          left_out_text(group, others),
      .source = "Wang et al. 2022; Goldowsky-Dill et al. 2023",
      .content =
          circuit_graph(group, between.first(std::min(between.size(), most_graph_edges)), types)};
}

Figure faithfulness_figure(const ResultsGroup& group, const std::vector<std::size_t>& tasks) {
  const Variable& faithfulness = group.variable("faithfulness");
  const std::vector<double>& steps = group.dimension("step").values;
  const std::vector<std::string> orders{"largest integrated effect first",
                                        "largest first-order effect first", "random order"};
  std::vector<ChartPanel> panels;
  for (const std::size_t task : tasks) {
    ChartPanel panel{task_name(group, task), {}, {{"90 %", 0.9}}};
    for (std::size_t order = 0; order < orders.size(); ++order) {
      Series line{.label = orders[order]};
      for (std::size_t step = 1; step < steps.size(); ++step) {
        line.add(steps[step],
                 faithfulness.estimate((task * orders.size() + order) * steps.size() + step));
      }
      line.keep_intervals_of_all();
      panel.series.push_back(std::move(line));
    }
    if (group.has("faithfulness_given")) {
      Series line{.label = "order of the file of --paths-ordering"};
      for (std::size_t step = 1; step < steps.size(); ++step) {
        const Estimate share =
            group.variable("faithfulness_given").estimate(task * steps.size() + step);
        if (!std::isnan(share.value)) line.add(steps[step], share);
      }
      line.keep_intervals_of_all();
      if (!line.x.empty()) panel.series.push_back(std::move(line));
    }
    panels.push_back(std::move(panel));
  }
  panels.resize(panels_in_whole_rows(panels.size()));
  return {.name = "paths_faithfulness",
          .group = group.name,
          .title = "How few edges do a task",
          .caption = std::string("Margin with some edges kept and all others ablated, from 0 with "
                                 "none kept to 1 with all; 95 % intervals over resampled pairs.") +
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
  points.keep_intervals_of_all();
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
      .caption =
          std::string("Each point is an edge; the edges with the largest integrated effects are "
                      "shown. Across: the edge's effect on the margin by gradients, over all "
                      "pairs. Up: the change of the margin when this edge alone is ablated, "
                      "with its 95 % interval over pairs. The three largest are named.") +
          path_panels,
      .source = "Goldowsky-Dill et al. 2023; Syed et al. 2023; Hanna et al. 2024",
      .content = Chart{.panels = std::move(panels),
                       .x_title = "effect by gradients (nats per pair)",
                       .y_title = "exact effect (nats per pair)",
                       .own_axes = true}};
}

Figure paths_composition_figure(const ResultsGroup& group) {
  const Array& correlation = group.values("composition_correlation");
  const std::vector<std::string> kinds{"by queries", "by keys", "by values"};
  std::vector<Series> series;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    series.push_back(Series::line(kinds[kind], correlation.at_last(kind).values));
    series.back().style = Series::Style::points;
  }
  return {.name = "paths_composition",
          .group = group.name,
          .title = "Composition in the weights against edges on tasks",
          .caption =
              "Spearman's rank correlation, over edges from a head to a head of a later layer, "
              "between composition measured in the weights and the size of the edge's integrated "
              "effect on the task's margin.",
          .source = "Elhage et al. 2021; Hanna et al. 2024",
          .content = rows_chart("task", "rank correlation", spaced(group.labels("task")),
                                std::move(series), {{"none", 0}})};
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
  if (group.has("composition_correlation")) figures.push_back(paths_composition_figure(group));
  return figures;
}

}  // namespace headscope
