#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headscope/ablation.hpp"
#include "headscope/edges.hpp"

namespace headscope {

/// Exact losses with one edge ablated. The edge's port reads the residual stream, through its norm,
/// with the output of the edge's node replaced; all other ports read that output unchanged. Nodes
/// after the port see what changes behind it. Keeps buffers between calls. The model must be
/// complete and outlive this object.
///
/// Source: Wang et al. 2022, "Interpretability in the Wild"; Goldowsky-Dill et al. 2023,
/// "Localizing Model Behavior with Path Patching".
class EdgeAblation {
 public:
  explicit EdgeAblation(const Model& model, ComputeContext context = {});
  ~EdgeAblation();

  /// @param clean        has observed the batch.
  /// @param edges        by EdgeGraph::edge, in any order.
  /// @param replacement  what each node's output is replaced by, as in CircuitForward::run.
  /// @return             one per edge: losses of the batch's predictions, in their order.
  /// @throws ShapeError if counts differ or there is no such edge.
  std::vector<TokenLoss> losses(HeadAblation& clean, const SequenceBatch& batch,
                                std::span<const Index> edges, const Matrix& replacement);

  /// Upper bound on the bytes that it keeps, without its HeadAblation.
  static std::uint64_t bytes(const ModelConfig& config, Index n_column, Index n_edge);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
