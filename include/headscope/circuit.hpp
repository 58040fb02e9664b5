#pragma once

#include <memory>
#include <span>

#include "headscope/compute_context.hpp"
#include "headscope/edges.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"

namespace headscope {

/// A forward pass in which only some edges are kept. A port r reads the residual stream
///
///   stream_r = biases + sum over kept edges u -> r of output_u
///                     + sum over cut edges u -> r of replacement_u
///
/// through its LayerNorm; output_u is what node u writes in this pass. OpenBLAS computes all
/// products, whatever the engines of the context. Keeps its buffers between calls. The model must
/// outlive it and be complete.
///
/// Cost: nodes without a kept path to the logits are not computed; with all edges kept, about one
/// and a half forward passes.
/// Source: Conmy et al. 2023, "Towards Automated Circuit Discovery for Mechanistic
/// Interpretability".
class CircuitForward {
 public:
  /// @throws ShapeError if the model is attention-only.
  explicit CircuitForward(const Model& model, ComputeContext context = {});
  ~CircuitForward();

  /// @param replacement  d_model x n_node, for all tokens; or d_model x (n_node n_position), the
  ///                     positions of a node side by side.
  /// @param kept         by EdgeGraph::edge, 1 for the edges that are kept.
  /// @return             losses of the batch's predictions, in their order.
  /// @throws ShapeError if counts differ, or a token or the batch does not fit the model.
  /// Memory: n_node d_model n_column floats.
  TokenLoss run(const SequenceBatch& batch, const Matrix& replacement,
                std::span<const unsigned char> kept);

  /// Most columns in a batch of several sequences or pairs; bounds the memory.
  static Index columns_at_once(const ModelConfig& config);

  /// Upper bound on the bytes that it keeps, what it keeps in the context included.
  static std::uint64_t bytes(const ModelConfig& config, Index n_column, int n_thread);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
