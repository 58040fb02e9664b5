#pragma once

#include "compute/activations.hpp"
#include "headscope/blas.hpp"
#include "headscope/compute_context.hpp"
#include "headscope/edges.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// What EdgeAblation, EdgeGradient and CircuitForward share: model, graph and context.
struct EdgeModel {
  EdgeModel(const Model& model_given, ComputeContext context_given)
      : model(model_given),
        config(model.config),
        graph(config),
        context(std::move(context_given)) {}

  const Model& model;
  const ModelConfig& config;
  const EdgeGraph graph;
  ComputeContext context;
};

/// What each node's output is replaced by: the same for all tokens, or by position.
class NodeReplacement {
 public:
  /// @param values  d_model x (n_node n_position), the positions of a node side by side; outlives
  ///                the object.
  /// @throws ShapeError  unless it fits the model, and with several positions the batch's tokens.
  NodeReplacement(const EdgeGraph& graph, const ModelConfig& config, const Matrix& values,
                  const SequenceBatch& batch);

  Index n_position() const { return n_position_; }
  /// d_model values of a node.
  const float* at_position(Index node, Index position) const {
    return values_->colptr(node * n_position_ + position);
  }
  /// The position whose values replace the node's output in a column: 0 if there is one for all.
  Index position(Index column) const { return n_position_ == 1 ? 0 : positions_[column]; }
  /// Y += factor times the node's values, for the columns from `first` on.
  void add(Index node, float factor, Index first, blas::View Y) const;

 private:
  const Matrix* values_;
  Index n_position_;
  std::vector<Index> positions_;  // by column; empty with one for all
};

/// difference = replacement - u of the columns first .. first + difference.n_col - 1, u being what
/// a node writes. Works on the calling thread.
/// @param difference   d_model x n, overwritten.
void node_difference(const Model& model, Activations& clean, const EdgeGraph& graph, Index node,
                     const NodeReplacement& replacement, Index first, blas::View difference);

/// The columns of W_O that a head writes with: d_model x d_head.
blas::ConstView head_output_weights(const LayerWeights& layer, Index d_head, Index head);

}  // namespace headscope
