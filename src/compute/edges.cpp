#include "headscope/edges.hpp"

#include <algorithm>

namespace headscope {

EdgeGraph::EdgeGraph(const ModelConfig& config) : n_layer_(config.n_layer), n_head_(config.n_head) {
  first_edge_.reserve(n_port() + 1);
  first_edge_.push_back(0);
  for (Index p = 0; p < n_port(); ++p) {
    const PathPort port = this->port(p);
    const Index n_read = port.kind == PathPort::Kind::logits ? n_node()
                         : port.kind == PathPort::Kind::mlp  ? mlp(port.layer)
                                                             : head(port.layer, 0);
    first_edge_.push_back(first_edge_.back() + n_read);
  }
}

Index EdgeGraph::port(PathPort::Kind kind, Index layer, Index h) const {
  if (kind == PathPort::Kind::logits) return logits_port();
  if (kind == PathPort::Kind::mlp) return mlp_port(layer);
  return attention_port(layer) + static_cast<Index>(kind) * n_head_ + h;
}

PathNode EdgeGraph::node(Index node) const {
  if (node == embed) return {PathNode::Kind::embed, 0, 0};
  const Index layer = (node - 1) / (n_head_ + 1), place = (node - 1) % (n_head_ + 1);
  if (place == n_head_) return {PathNode::Kind::mlp, layer, 0};
  return {PathNode::Kind::head, layer, place};
}

PathPort EdgeGraph::port(Index port) const {
  if (port == logits_port()) return {PathPort::Kind::logits, n_layer_, 0};
  const Index layer = port / (3 * n_head_ + 1), place = port % (3 * n_head_ + 1);
  if (place == 3 * n_head_) return {PathPort::Kind::mlp, layer, 0};
  return {static_cast<PathPort::Kind>(place / n_head_), layer, place % n_head_};
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
  return node_name(owner(port)) + kinds[static_cast<std::size_t>(reader.kind)];
}

}  // namespace headscope
