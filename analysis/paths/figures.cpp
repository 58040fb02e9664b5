#include <algorithm>
#include <cmath>
#include <span>

#include "base/file_names.hpp"
#include "base/head_range.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "headscope/head_types.hpp"
#include "paths/circuit_size.hpp"
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
  std::vector<std::size_t> tasks =
      numbers_where(fewest.size(), [&](std::size_t task) { return std::isfinite(fewest(task)); });
  tasks.resize(std::min(tasks.size(), most_tasks));
  return tasks;
}

/// Models with more heads have only the circuit's nodes drawn, in layers from the bottom up.
constexpr std::size_t most_placed_heads = 64;

/// Where nodes lie, and who reads by which port. Of few heads layers go from left to right and a
/// layer's heads upwards, MLPs between layers above them. Of many, only layers with heads of the
/// circuit are rows, the heads side by side in them and the layer's MLP to the right.
class GraphLayout {
 public:
  /// @param edges  of the circuit.
  GraphLayout(const ResultsGroup& group, std::span<const CircuitEdge> edges)
      : nodes_(group.dimension("node")), ports_(group.labels("port")) {
    for (const std::string& node : nodes_.text) {
      n_head_ += node.starts_with("L0H") ? 1 : 0;
      n_layer_ += node.starts_with("MLP") ? 1 : 0;
    }
    rows_.resize(n_layer_);
    for (const CircuitEdge& edge : edges) {
      add(edge.node);
      for (const std::size_t owner : owners(edge.port)) add(owner);
    }
    for (std::vector<std::size_t>& row : rows_) std::ranges::sort(row);
  }

  bool in_bands() const { return n_layer_ * n_head_ > most_placed_heads; }
  bool is_head(std::size_t node) const {
    return node != n_node() && nodes_.text[node].starts_with('L');
  }
  /// With its place, name and mark. @param node  n_node() of the logits.
  Graph::Node node(std::size_t node) const {
    if (node == n_node()) return end_node("logits", n_layer_);
    const std::string& name = nodes_.text[node];
    if (node == 0) return end_node(name, 0);
    const std::size_t layer = (node - 1) / (n_head_ + 1);
    const double row = row_of(layer), widest = static_cast<double>(n_column());
    if (!is_head(node)) {
      return in_bands() ? Graph::Node{name, "", widest, row}
                        : Graph::Node{name, "", static_cast<double>(layer) + 0.5,
                                      static_cast<double>(n_head_)};
    }
    const std::size_t head = head_index(node) % n_head_;
    if (!in_bands()) {
      return {name, std::to_string(head), static_cast<double>(layer), static_cast<double>(head)};
    }
    const std::vector<std::size_t>& heads = rows_[layer];
    const auto place = static_cast<double>(std::ranges::find(heads, node) - heads.begin());
    // In the middle of the band.
    return {name, std::to_string(head), place + (widest - static_cast<double>(heads.size())) / 2,
            row};
  }
  /// Heads of a layer at most; layers; or of bands the other way round, without empty ones.
  std::vector<std::string> column_labels() const {
    return in_bands() ? std::vector<std::string>(n_column()) : numbers(n_layer_);
  }
  std::vector<std::string> row_labels() const {
    if (!in_bands()) return numbers(n_head_);
    std::vector<std::string> labels;
    for (std::size_t layer = 0; layer < n_layer_; ++layer) {
      if (!rows_[layer].empty()) labels.push_back(std::to_string(layer));
    }
    return labels;
  }
  /// The nodes that read by a port: several heads where they share keys and values, n_node() the
  /// logits.
  std::vector<std::size_t> owners(std::size_t port) const {
    if (ports_[port] == "logits") return {n_node()};
    if (ports_[port].find('.') == std::string::npos) return {nodes_.index_of(ports_[port])};
    std::vector<std::size_t> found;
    for (const std::string& name : heads_in(ports_[port].substr(0, ports_[port].rfind('.')))) {
      found.push_back(nodes_.index_of(name));
    }
    return found;
  }
  /// Place in edge_kinds: read by queries, keys, values, or MLPs and logits.
  std::size_t kind(std::size_t port) const {
    const bool is_of_head = ports_[port].find('.') != std::string::npos;
    return is_of_head ? std::string("qkv").find(ports_[port].back()) : 3;
  }
  std::size_t n_node() const { return nodes_.text.size(); }
  /// Of a node that is a head.
  std::size_t head_index(std::size_t node) const {
    return (node - 1) / (n_head_ + 1) * n_head_ + (node - 1) % (n_head_ + 1);
  }

 private:
  /// Of the circuit's heads.
  void add(std::size_t node) {
    if (!is_head(node)) return;
    std::vector<std::size_t>& row = rows_[head_index(node) / n_head_];
    if (std::ranges::find(row, node) == row.end()) row.push_back(node);
  }
  static std::vector<std::string> numbers(std::size_t n) {
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < n; ++i) labels.push_back(std::to_string(i));
    return labels;
  }
  std::size_t n_column() const {
    std::size_t most = 1;
    for (const std::vector<std::size_t>& row : rows_) most = std::max(most, row.size());
    return most;
  }
  /// Rows below a layer's: between two of them for a layer without heads of the circuit.
  double row_of(std::size_t layer) const {
    const auto first = rows_.begin();
    const auto n_below = std::count_if(first, first + static_cast<std::ptrdiff_t>(layer),
                                       [](const auto& row) { return !row.empty(); });
    const bool has_row = layer < n_layer_ && !rows_[layer].empty();
    return static_cast<double>(n_below) - (has_row ? 0 : 0.5);
  }
  /// The embeddings before the first layer, or the logits after the last.
  Graph::Node end_node(const std::string& name, std::size_t layer) const {
    if (!in_bands()) {
      return {name, "", static_cast<double>(layer) - 0.5, static_cast<double>(n_head_) + 1};
    }
    const auto n_row = static_cast<double>(row_labels().size());
    return {name, "", static_cast<double>(n_column() - 1) / 2, layer == 0 ? -1.0 : n_row};
  }

  const Dimension& nodes_;
  const std::vector<std::string>& ports_;
  std::size_t n_head_ = 0, n_layer_ = 0;
  std::vector<std::vector<std::size_t>> rows_;  // by layer, the circuit's heads in order
};

/// The kind of a node, added to the graph's where it is the first of it.
std::size_t node_kind(const GraphLayout& layout, std::size_t node,
                      const std::optional<HeadTypes>& types, Graph& graph) {
  Graph::Kind kind{"other head", no_colour};
  if (!layout.is_head(node)) {
    kind = {"embeddings, MLPs, logits", 7, false, true};
  } else if (types && types->primary[layout.head_index(node)]) {
    const std::size_t type = *types->primary[layout.head_index(node)];
    kind = {spaced(types->names[type]) + " head", type};
  }
  const auto same = std::ranges::find(graph.node_kinds, kind.label, &Graph::Kind::label);
  const auto place = static_cast<std::size_t>(same - graph.node_kinds.begin());
  if (same == graph.node_kinds.end()) graph.node_kinds.push_back(std::move(kind));
  return place;
}

/// @param edges        between heads.
/// @param other_edges  those from and to heads of these edges, MLPs, embeddings and logits, which a
///                     switch on the page shows.
Graph circuit_graph(const ResultsGroup& group, std::span<const CircuitEdge> edges,
                    std::span<const CircuitEdge> other_edges,
                    const std::optional<HeadTypes>& types) {
  const GraphLayout layout(group, edges);
  Graph graph;
  graph.bands = layout.in_bands();
  graph.column_title = graph.bands ? "heads" : "layer";
  graph.row_title = graph.bands ? "layer" : "head";
  graph.value_title = "nats per pair";
  graph.column_labels = layout.column_labels();
  graph.row_labels = layout.row_labels();
  graph.edge_kinds = {{"read by queries", 3, true},
                      {"read by keys", 0},
                      {"read by values", 2},
                      {"read by MLPs and logits", 7, false, true}};
  graph.switch_label = "Embeddings, MLPs and logits";
  graph.plus_label = "the margin grows without it";
  std::vector<std::optional<std::size_t>> place(layout.n_node() + 1);
  const auto place_of = [&](std::size_t node) {
    if (!place[node]) {
      place[node] = graph.nodes.size();
      graph.nodes.push_back(layout.node(node));
      graph.nodes.back().kind = node_kind(layout, node, types, graph);
    }
    return *place[node];
  };
  const auto add = [&](const CircuitEdge& edge, std::size_t reader) {
    const std::size_t from = place_of(edge.node);
    graph.edges.push_back({from, place_of(reader), layout.kind(edge.port), edge.change.value});
  };
  for (const CircuitEdge& edge : edges) {
    for (const std::size_t reader : layout.owners(edge.port)) add(edge, reader);
  }
  const auto is_shown = [&](std::size_t node) { return !layout.is_head(node) || place[node]; };
  for (const CircuitEdge& edge : other_edges) {
    for (const std::size_t reader : layout.owners(edge.port)) {
      if (is_shown(edge.node) && is_shown(reader)) add(edge, reader);
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
  const auto other_edges = std::ranges::stable_partition(
      edges, [&](const CircuitEdge& edge) { return is_between_heads(group, edge); });
  const std::span between(edges.begin(), other_edges.begin());
  if (between.empty()) return std::nullopt;
  const auto drawn = between.first(std::min(between.size(), most_graph_edges));
  const bool in_bands = GraphLayout(group, drawn).in_bands();
  const bool has_plus =
      std::ranges::any_of(drawn, [](const CircuitEdge& edge) { return edge.change.value > 0; });
  return Figure{
      .name = "circuit_" + file_names(group.labels("task"))[task],
      .group = group.name,
      .title = "The circuit of " + task_name(group, task),
      .caption =
          "The edges between heads that matter, of those ablated exactly: without such an edge "
          "alone the margin changes by at least " +
          percent(least_circuit_share) + ", with q < 0.05; at most the " +
          std::to_string(most_graph_edges) + " largest. " +
          std::string(in_bands ? "Each band is a layer, the first at the bottom, with those of its "
                                 "heads that have such an edge"
                               : "Layers from left to right") +
          ". Heads have the colour of their type, edges that of the port that reads; an edge to "
          "keys or values that heads share runs to each of them; an edge is as wide as the margin "
          "changes without it" +
          std::string(has_plus ? "; a plus sign marks an edge without which the margin grows."
                               : ".") +
          left_out_text(group, other_edges),
      .source = "Wang et al. 2022; Goldowsky-Dill et al. 2023",
      .content = circuit_graph(group, drawn, {other_edges.begin(), other_edges.end()}, types)};
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
      Series line{.label = orders[order]};
      for (std::size_t step = 1; step < steps.size(); ++step) {
        line.add(steps[step],
                 faithfulness.estimate((task * orders.size() + order) * steps.size() + step));
      }
      line.drop_partial_intervals();
      panel.series.push_back(std::move(line));
    }
    if (group.has("faithfulness_given")) {
      Series line{.label = "order of the file of --paths-ordering"};
      for (std::size_t step = 1; step < steps.size(); ++step) {
        const Estimate share =
            group.variable("faithfulness_given").estimate(task * steps.size() + step);
        if (!std::isnan(share.value)) line.add(steps[step], share);
      }
      line.drop_partial_intervals();
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
