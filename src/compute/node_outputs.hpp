#pragma once

#include "compute/activations.hpp"
#include "headscope/blas.hpp"
#include "headscope/compute_context.hpp"
#include "headscope/edges.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// What the engines of edges have in common.
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

/// Y += factor X, on the calling thread. @param X  one column for all if it has only one.
void add_scaled(blas::ConstView X, float factor, blas::View Y);

/// difference = replacement - u of the columns first .. first + difference.n_col - 1, u being what
/// a node writes. Works on the calling thread.
/// @param replacement  d_model x n_node.
/// @param difference   d_model x n, overwritten.
void node_difference(const Model& model, Activations& clean, const EdgeGraph& graph, Index node,
                     const Matrix& replacement, Index first, blas::View difference);

/// @throws ShapeError unless the replacement is d_model x n_node; gives both.
void check_replacement(const EdgeGraph& graph, const ModelConfig& config,
                       const Matrix& replacement);

/// The columns of W_O that a head writes with: d_model x d_head.
blas::ConstView head_output_weights(const LayerWeights& layer, Index d_head, Index head);

}  // namespace headscope
