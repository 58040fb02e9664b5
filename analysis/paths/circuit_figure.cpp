#include <algorithm>
#include <span>

#include "base/file_names.hpp"
#include "base/head_range.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/figure.hpp"
#include "paths/circuit_size.hpp"
#include "paths/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_graph_edges = 100;

/// Models with more heads have only the circuit's nodes drawn, in layers from the bottom up.
constexpr std::size_t most_placed_heads = 64;

/// Where nodes lie, and who reads by which port. Of few heads layers go from left to right and a
/// layer's heads upwards, MLPs between layers above them. Of many, only layers with heads of the
/// circuit are rows, the heads side by side in them and the layer's MLP to the right.
class GraphLayout {
 public:
  /// @param edges  of the circuit.
  GraphLayout(const ResultsGroup& group, std::size_t task, std::span<const CircuitEdge> edges)
      : nodes_(group.dimension("node")), ports_(group.labels("port")) {
    for (std::size_t node = 0; node < n_node(); ++node) {
      n_head_ += nodes_.text[node].starts_with("L0H") ? 1 : 0;
      n_layer_ += nodes_.text[node].starts_with("MLP") ? 1 : 0;
      is_removed_.push_back(!has_edges(group, task, node));
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
  /// The nodes that read by a port: several heads where they share keys and values, without removed
  /// ones; n_node() the logits.
  std::vector<std::size_t> owners(std::size_t port) const {
    if (ports_[port] == "logits") return {n_node()};
    if (ports_[port].find('.') == std::string::npos) return {nodes_.index_of(ports_[port])};
    std::vector<std::size_t> found;
    for (const std::string& name : heads_in(ports_[port].substr(0, ports_[port].rfind('.')))) {
      const std::size_t node = nodes_.index_of(name);
      if (!is_removed_[node]) found.push_back(node);
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
  std::vector<bool> is_removed_;  // by node
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
Graph circuit_graph(const ResultsGroup& group, std::size_t task, std::span<const CircuitEdge> edges,
                    std::span<const CircuitEdge> other_edges,
                    const std::optional<HeadTypes>& types) {
  const GraphLayout layout(group, task, edges);
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

}  // namespace

std::optional<Figure> circuit_figure(const ResultsGroup& group, std::size_t task,
                                     const std::optional<HeadTypes>& types) {
  std::vector<CircuitEdge> edges = circuit_of(group, task);
  const auto other_edges = std::ranges::stable_partition(
      edges, [&](const CircuitEdge& edge) { return is_between_heads(group, edge); });
  const std::span between(edges.begin(), other_edges.begin());
  if (between.empty()) return std::nullopt;
  const auto drawn = between.first(std::min(between.size(), most_graph_edges));
  const bool in_bands = GraphLayout(group, task, drawn).in_bands();
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
      .content =
          circuit_graph(group, task, drawn, {other_edges.begin(), other_edges.end()}, types)};
}

}  // namespace headscope
