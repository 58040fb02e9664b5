#pragma once

#include <memory>
#include <span>

#include "headscope/compute_context.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/forward.hpp"

namespace headscope {

/// The effect of every edge by integrated gradients:
///
///   effect of the edge u -> r = sum over t of (replacement_u - u_t) . mean over k of g_rt(k)
///
/// g_r(k), k = 1 .. M, is the gradient of L with respect to what port r reads in a pass whose token
/// embeddings x after position 0 become mean + (k / M) (x - mean); position embeddings stay. Pass M
/// is the model's: u is what the node writes in it, and its gradient alone gives the first-order
/// effect. Where attention saturates, pass M's gradient is near 0, those of other passes are not.
///
/// Source: Hanna et al. 2024, "Have Faith in Faithfulness: Going Beyond Circuit Overlap When
/// Finding Model Mechanisms" (EAP-IG).
class IntegratedEdges {
 public:
  /// @param n_step  M, at least 1.
  IntegratedEdges(const Model& model, const ComputeContext& context, Index n_step);
  ~IntegratedEdges();

  /// @param forward     of the model; runs passes 1 to M - 1. Pass M is `clean`.
  /// @param clean       HeadAblation::activations() of the batch.
  /// @param mean_token  d_model: mean token embedding.
  /// @param observe     its mean is the effect by integrated gradients.
  /// The others as in EdgeGradient::run. @throws ShapeError as it does.
  void run(Forward& forward, Activations& clean, const SequenceBatch& batch,
           std::span<const float> weights, const Matrix& replacement, const Vector& mean_token,
           std::span<const Index> group_ends, const EdgeGradient::Observer& observe);

  /// Upper bound on the bytes that it keeps.
  static std::uint64_t bytes(const ModelConfig& config, Index n_column, Index n_step, int n_thread,
                             const Engines& engines);

 private:
  const Model& model_;
  EdgeGradient gradient_;
  std::unique_ptr<Activations> scaled_;
  Index n_step_;
};

}  // namespace headscope
