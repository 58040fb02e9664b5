#pragma once

#include <algorithm>
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

/// A place that reads the residual stream, through a norm. Heads of a group share the ports of
/// their keys and values.
struct PathPort {
  enum class Kind { q, k, v, mlp, logits };
  Kind kind = Kind::logits;
  Index layer = 0;
  Index head = 0;    ///< the first that computes from it
  Index n_head = 1;  ///< consecutive heads that compute from it
};

/// The nodes and ports of a model, in the order in which they write and read, and the edges: a port
/// reads every node that writes before it. Heads of a layer do not read each other; the layer's MLP
/// reads them unless the residual is parallel. No node writes biases.
///
/// Nodes: embed; then of each layer its heads and its MLP. Ports: of each layer the heads' queries,
/// the groups' keys, the groups' values, and the MLP's input; then the logits. Edges are numbered
/// by port, and for a port by node. Removed heads (ModelConfig::pruned_heads) keep their numbers,
/// but have no edges. Source: Elhage et al. 2021; ports apart: Goldowsky-Dill et al. 2023.
class EdgeGraph {
 public:
  explicit EdgeGraph(const ModelConfig& config);

  Index n_node() const { return 1 + n_layer_ * (n_head_ + 1); }
  Index n_port() const { return n_layer_ * (n_attention_port() + 1) + 1; }
  /// Query, key and value ports of a layer. Port i feeds d_head rows of W_QKV, from row i d_head
  /// on.
  Index n_attention_port() const { return n_head_ + 2 * n_group_; }
  /// Numbers of edges, with those of removed heads.
  Index n_edge() const { return first_edge_.back(); }
  Index n_layer() const { return n_layer_; }
  Index n_head() const { return n_head_; }
  /// Of a layer: groups of heads that share keys and values; n_head if none do.
  Index n_group() const { return n_group_; }

  static constexpr Index embed = 0;
  Index head(Index layer, Index h) const { return 1 + layer * (n_head_ + 1) + h; }
  Index mlp(Index layer) const { return head(layer, n_head_); }
  Index port(PathPort::Kind kind, Index layer, Index h) const;
  Index attention_port(Index layer) const { return layer * (n_attention_port() + 1); }
  Index mlp_port(Index layer) const { return attention_port(layer) + n_attention_port(); }
  Index logits_port() const { return n_port() - 1; }

  PathNode node(Index node) const;
  PathPort port(Index port) const;
  /// Nodes that a port reads: 0 .. n_read - 1.
  Index n_read(Index port) const { return first_edge_[port + 1] - first_edge_[port]; }
  /// The node that uses what a port reads; the first head if heads share the port; n_node() for
  /// the logits.
  Index owner(Index port) const;

  Index edge(Index node, Index port) const { return first_edge_[port] + node; }
  Index port_of(Index edge) const;
  Index node_of(Index edge) const { return edge - first_edge_[port_of(edge)]; }

  bool is_removed(Index node) const { return std::ranges::binary_search(removed_, node); }
  /// The edges of the model, ascending: without those from removed heads and to ports from which
  /// only removed heads compute.
  std::vector<Index> edges_left() const;

  /// `embed`, `L0H4`, `MLP0`.
  std::string node_name(Index node) const;
  /// `L3H3.q`, `L3H3-5.k` where three heads share keys, `MLP0`, `logits`.
  std::string port_name(Index port) const;

 private:
  Index n_layer_, n_head_, n_group_;
  std::vector<Index> first_edge_;  // by port, and the number of edges
  std::vector<Index> removed_;     // nodes, ascending
};

}  // namespace headscope
