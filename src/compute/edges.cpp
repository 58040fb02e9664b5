#include "headscope/edges.hpp"

#include <algorithm>
#include <ranges>

namespace headscope {

EdgeGraph::EdgeGraph(const ModelConfig& config)
    : n_layer_(config.n_layer), n_head_(config.n_head), n_group_(config.n_group()) {
  first_edge_.reserve(n_port() + 1);
  first_edge_.push_back(0);
  for (Index p = 0; p < n_port(); ++p) {
    const PathPort port = this->port(p);
    const bool reads_heads = port.kind == PathPort::Kind::mlp && !config.parallel_residual;
    const Index n_read = port.kind == PathPort::Kind::logits ? n_node()
                         : reads_heads                       ? mlp(port.layer)
                                                             : head(port.layer, 0);
    first_edge_.push_back(first_edge_.back() + n_read);
  }
  for (const HeadIndex removed : config.pruned_heads) {
    removed_.push_back(head(removed.layer, removed.head));
  }
}

std::vector<Index> EdgeGraph::edges_left() const {
  std::vector<Index> edges;
  for (Index port = 0; port < n_port(); ++port) {
    const Index first = owner(port), end = first + this->port(port).n_head;
    const auto readers = std::views::iota(first, end);
    if (std::ranges::all_of(readers, [&](Index reader) { return is_removed(reader); })) continue;
    for (Index node = 0; node < n_read(port); ++node) {
      if (!is_removed(node)) edges.push_back(edge(node, port));
    }
  }
  return edges;
}

Index EdgeGraph::port(PathPort::Kind kind, Index layer, Index h) const {
  const Index group = h / (n_head_ / n_group_);
  switch (kind) {
    case PathPort::Kind::q:
      return attention_port(layer) + h;
    case PathPort::Kind::k:
      return attention_port(layer) + n_head_ + group;
    case PathPort::Kind::v:
      return attention_port(layer) + n_head_ + n_group_ + group;
    case PathPort::Kind::mlp:
      return mlp_port(layer);
    case PathPort::Kind::logits:
      break;
  }
  return logits_port();
}

PathNode EdgeGraph::node(Index node) const {
  if (node == embed) return {PathNode::Kind::embed, 0, 0};
  const Index layer = (node - 1) / (n_head_ + 1), place = (node - 1) % (n_head_ + 1);
  if (place == n_head_) return {PathNode::Kind::mlp, layer, 0};
  return {PathNode::Kind::head, layer, place};
}

PathPort EdgeGraph::port(Index port) const {
  if (port == logits_port()) return {PathPort::Kind::logits, n_layer_};
  const Index layer = port / (n_attention_port() + 1), place = port % (n_attention_port() + 1);
  if (place == n_attention_port()) return {PathPort::Kind::mlp, layer};
  if (place < n_head_) return {PathPort::Kind::q, layer, place};
  const Index of_group = n_head_ / n_group_, group = (place - n_head_) % n_group_;
  const bool is_key = place < n_head_ + n_group_;
  return {is_key ? PathPort::Kind::k : PathPort::Kind::v, layer, group * of_group, of_group};
}

Index EdgeGraph::owner(Index port) const {
  const PathPort reader = this->port(port);
  if (reader.kind == PathPort::Kind::logits) return n_node();
  if (reader.kind == PathPort::Kind::mlp) return mlp(reader.layer);
  return head(reader.layer, reader.head);
}

Index EdgeGraph::port_of(Index edge) const {
  const auto after = std::ranges::upper_bound(first_edge_, edge);
  return static_cast<Index>(after - first_edge_.begin()) - 1;
}

std::string EdgeGraph::node_name(Index node) const {
  const PathNode writer = this->node(node);
  if (writer.kind == PathNode::Kind::embed) return "embed";
  if (writer.kind == PathNode::Kind::mlp) return "MLP" + std::to_string(writer.layer);
  return "L" + std::to_string(writer.layer) + "H" + std::to_string(writer.head);
}

std::string EdgeGraph::port_name(Index port) const {
  const PathPort reader = this->port(port);
  if (reader.kind == PathPort::Kind::logits) return "logits";
  if (reader.kind == PathPort::Kind::mlp) return node_name(mlp(reader.layer));
  constexpr const char* kinds[] = {".q", ".k", ".v"};
  const std::string sharing =
      reader.n_head == 1 ? "" : "-" + std::to_string(reader.head + reader.n_head - 1);
  return node_name(owner(port)) + sharing + kinds[static_cast<std::size_t>(reader.kind)];
}

}  // namespace headscope
