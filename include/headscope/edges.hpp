#pragma once

#include <string>
#include <vector>

#include "headscope/config.hpp"

/// A model as a graph: nodes write to the residual stream, ports read from it, and an edge leads
/// from a node to each port that reads it.
namespace headscope {

/// A component of the model that writes to the residual stream.
struct PathNode {
  enum class Kind {
    embed,  ///< token and position embeddings
    head,   ///< W_O[h] z_h
    mlp,    ///< W_out activation, without b_out
  };
  Kind kind = Kind::embed;
  Index layer = 0, head = 0;
};

/// A place where the residual stream is read, each through a LayerNorm of its own.
struct PathPort {
  enum class Kind { q, k, v, mlp, logits };
  Kind kind = Kind::logits;
  Index layer = 0, head = 0;
};

/// The nodes and ports of a model, in the order in which they write and read, and the edges: a port
/// reads every node that writes before it. Heads of a layer do not read each other; the layer's MLP
/// reads them. Biases are no node's.
///
/// Nodes: embed; then of each layer its heads and its MLP. Ports: of each layer the heads' queries,
/// the heads' keys, the heads' values, and the MLP's input; then the logits. Edges are numbered by
/// port, and for a port by node.
/// Source: Elhage et al. 2021; ports apart: Goldowsky-Dill et al. 2023.
class EdgeGraph {
 public:
  explicit EdgeGraph(const ModelConfig& config);

  Index n_node() const { return 1 + n_layer_ * (n_head_ + 1); }
  Index n_port() const { return n_layer_ * (3 * n_head_ + 1) + 1; }
  Index n_edge() const { return first_edge_.back(); }
  Index n_layer() const { return n_layer_; }
  Index n_head() const { return n_head_; }

  static constexpr Index embed = 0;
  Index head(Index layer, Index h) const { return 1 + layer * (n_head_ + 1) + h; }
  Index mlp(Index layer) const { return head(layer, n_head_); }
  Index port(PathPort::Kind kind, Index layer, Index h) const;
  Index attention_port(Index layer) const { return layer * (3 * n_head_ + 1); }
  Index mlp_port(Index layer) const { return attention_port(layer) + 3 * n_head_; }
  Index logits_port() const { return n_port() - 1; }

  PathNode node(Index node) const;
  PathPort port(Index port) const;
  /// Nodes that a port reads: 0 .. n_read - 1.
  Index n_read(Index port) const { return first_edge_[port + 1] - first_edge_[port]; }
  /// The node that computes from what a port reads; n_node for the logits.
  Index owner(Index port) const;

  Index edge(Index node, Index port) const { return first_edge_[port] + node; }
  Index port_of(Index edge) const;
  Index node_of(Index edge) const { return edge - first_edge_[port_of(edge)]; }

  /// `embed`, `L0H4`, `MLP0`.
  std::string node_name(Index node) const;
  /// `L3H3.q`, `MLP0`, `logits`.
  std::string port_name(Index port) const;

 private:
  Index n_layer_, n_head_;
  std::vector<Index> first_edge_;  // by port, and the number of edges
};

}  // namespace headscope
