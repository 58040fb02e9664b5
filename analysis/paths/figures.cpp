#include <algorithm>
#include <cmath>

#include "base/file_names.hpp"
#include "base/head_range.hpp"
#include "base/label_text.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "paths/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

/// Tasks with a figure of their own, panels of a chart, and edges of a graph, at most.
constexpr std::size_t most_tasks = 12, most_graph_edges = 100;

/// Behind the colours of the types of heads.
constexpr std::size_t colour_of_no_head = 13;

const char* const path_panels =
    " The first tasks that the model is shown to do, at most 12 and in whole rows.";

/// Tasks whose circuit is known, the first ones.
std::vector<std::size_t> tasks_with_circuits(const ResultsGroup& group) {
  const Array& fewest = group.values("circuit_edges_90");
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < fewest.size() && tasks.size() < most_tasks; ++task) {
    if (std::isfinite(fewest(task))) tasks.push_back(task);
  }
  return tasks;
}

/// Where nodes lie: layers from left to right, a layer's heads upwards, its MLP above and half a
/// layer further right; and who reads by which port.
class GraphLayout {
 public:
  explicit GraphLayout(const ResultsGroup& group)
      : node_labels_(group.dimension("node")),
        nodes_(node_labels_.text),
        ports_(group.labels("port")) {
    for (const std::string& node : nodes_) {
      n_head_ += node.starts_with("L0H") ? 1 : 0;
      n_layer_ += node.starts_with("MLP") ? 1 : 0;
    }
  }

  /// With its place, name and mark. The number of nodes stands for the logits.
  Graph::Node node(std::size_t node) const {
    const auto middle = std::floor(0.5 * static_cast<double>(n_head_ - 1));
    if (node == 0) return {nodes_[0], "E", 0, middle};
    if (node == nodes_.size()) return {"logits", "U", static_cast<double>(n_layer_) + 1, middle};
    const std::size_t layer = (node - 1) / (n_head_ + 1), head = (node - 1) % (n_head_ + 1);
    const auto column = 1 + static_cast<double>(layer);
    if (head == n_head_) return {nodes_[node], "M", column + 0.5, static_cast<double>(n_head_)};
    return {nodes_[node], std::to_string(head), column, static_cast<double>(head)};
  }
  /// The nodes that read by a port, several where heads share keys and values; the number of nodes
  /// for the logits.
  std::vector<std::size_t> owners(std::size_t port) const {
    std::vector<std::size_t> found;
    for (const std::string& name : heads_in(ports_[port].substr(0, ports_[port].rfind('.')))) {
      found.push_back(node_labels_.place_of(name).value_or(nodes_.size()));
    }
    return found;
  }
  char kind(std::size_t port) const {
    const std::size_t dot = ports_[port].rfind('.');
    return dot == std::string::npos ? ports_[port][0] : ports_[port][dot + 1];
  }
  std::size_t n_node() const { return nodes_.size(); }
  std::size_t n_layer() const { return n_layer_; }
  std::size_t n_head() const { return n_head_; }
  /// The head's index, if the node is one.
  std::optional<std::size_t> head_index(std::size_t node) const {
    if (node == 0 || node >= nodes_.size()) return std::nullopt;
    const std::size_t head = (node - 1) % (n_head_ + 1);
    if (head == n_head_) return std::nullopt;
    return (node - 1) / (n_head_ + 1) * n_head_ + head;
  }

 private:
  const Dimension& node_labels_;
  const std::vector<std::string>&nodes_, &ports_;
  std::size_t n_head_ = 0, n_layer_ = 0;
};

/// The kind of a node, added to the graph's where it is the first of it.
std::size_t node_kind(std::size_t node, const GraphLayout& layout,
                      const std::optional<HeadTypes>& types, Graph& graph) {
  const std::optional<std::size_t> head_index = layout.head_index(node);
  Graph::Kind kind{"embeddings, MLPs, logits", colour_of_no_head};
  if (head_index && types && types->primary[*head_index]) {
    kind = {spaced(types->names[*types->primary[*head_index]]) + " head",
            *types->primary[*head_index]};
  } else if (head_index) {
    kind = {"other head", no_colour};
  }
  const auto same = std::ranges::find(graph.node_kinds, kind.label, &Graph::Kind::label);
  const auto place = static_cast<std::size_t>(same - graph.node_kinds.begin());
  if (same == graph.node_kinds.end()) graph.node_kinds.push_back(std::move(kind));
  return place;
}

Graph circuit_graph(const ResultsGroup& group, std::vector<CircuitEdge> edges,
                    const std::optional<HeadTypes>& types) {
  const GraphLayout layout(group);
  edges.resize(std::min(edges.size(), most_graph_edges));
  Graph graph;
  graph.column_title = "layer";
  graph.row_title = "head";
  graph.value_title = "nats per pair";
  graph.column_labels.push_back("embed");
  for (std::size_t l = 0; l < layout.n_layer(); ++l) {
    graph.column_labels.push_back(std::to_string(l));
  }
  graph.column_labels.push_back("logits");
  for (std::size_t h = 0; h < layout.n_head(); ++h) graph.row_labels.push_back(std::to_string(h));
  graph.row_labels.push_back("MLP");
  graph.edge_kinds = {{"read by queries", 3, true},
                      {"read by keys", 0},
                      {"read by values", 2},
                      {"read by an MLP", 4},
                      {"read by the logits", 5}};
  const std::string kinds = "qkvMl";
  std::vector<std::optional<std::size_t>> place(layout.n_node() + 1);
  const auto place_of = [&](std::size_t node) {
    if (!place[node]) {
      place[node] = graph.nodes.size();
      graph.nodes.push_back(layout.node(node));
      graph.nodes.back().kind = node_kind(node, layout, types, graph);
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

Figure circuit_figure(const ResultsGroup& group, std::size_t task, std::vector<CircuitEdge> edges,
                      const std::optional<HeadTypes>& types) {
  return {
      .name = "circuit_" + file_names(group.labels("task"))[task],
      .group = group.name,
      .title = "The circuit of " + task_name(group, task),
      .caption =
          "The edges that matter, of those ablated exactly: without such an edge alone the "
          "margin changes by at least 1 %, with q < 0.05; at most the 100 largest. Layers from "
          "left to right; E, M and U are the embeddings, an MLP and the logits. Nodes have the "
          "colour of the head's type, edges that of the port that reads; an edge to keys or values "
          "that heads share runs to each of them; an edge is as wide as the margin changes without "
          "it.",
      .source = "Wang et al. 2022; Goldowsky-Dill et al. 2023",
      .content = circuit_graph(group, std::move(edges), types)};
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
    points.add(effects(group.dimension("node").place_of(nodes.text[i]).value(),
                       group.dimension("port").place_of(ports.text[i]).value()),
               change.estimate(i));
    points.point_labels.push_back(points.x.size() <= 3 ? edge_text(nodes.text[i], ports.text[i])
                                                       : "");
  }
  points.keep_intervals_of_all();
  return points;
}

Figure first_order_exact_figure(const ResultsGroup& group, const std::vector<std::size_t>& tasks) {
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
  panels.resize(panels_in_whole_rows(panels.size()));
  if (panels.empty()) panels.emplace_back();
  return {
      .name = "paths_first_order_exact",
      .group = group.name,
      .title = "Effects of edges from gradients against exact ones",
      .caption = std::string("Each point is an edge, of those with the largest integrated effect. "
                             "Across: its effect on the margin by gradients, over all pairs. "
                             "Up: the change of the margin when this edge alone is ablated, "
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
    std::vector<CircuitEdge> edges = circuit_of(group, task);
    if (!edges.empty()) {
      figures.push_back(circuit_figure(group, task, std::move(edges), types));
    }
  }
  if (!tasks.empty()) {
    figures.push_back(faithfulness_figure(group, tasks));
    figures.push_back(first_order_exact_figure(group, tasks));
  }
  if (group.has("composition_correlation")) figures.push_back(paths_composition_figure(group));
  return figures;
}

}  // namespace headscope
