#pragma once

#include <vector>

#include "compute/buffer.hpp"
#include "compute/node_outputs.hpp"
#include "headscope/gradient.hpp"

namespace headscope {

/// Gradients of L with respect to what each port reads from the residual stream, summed over passes
/// of one batch.
///
/// A port p of an attention computes W_p (gain x_k) + constant in pass k, x_k being the stream
/// standardised by the norm, at the scale s_k. With d_k the gradient of what the port computes, the
/// sum over passes is
///
///   c(gain W_p' sum over k of d_k / s_k) - sum over k of x_k (W_p (gain x_k) . d_k) / (d_model
///   s_k)
///
/// where c subtracts the mean over features, which rms_norm leaves out. So the product by W_p' is
/// taken once for all passes. A layer's MLP and the logits are one port each: the sum of their
/// gradients is kept.
class PortGradientSum : EdgeModel {
 public:
  PortGradientSum(const Model& model_given, const ComputeContext& context_given);

  /// Forgets the passes, before those of a batch.
  void clear(const SequenceBatch& batch);
  /// Takes the gradients of one more pass. @param at  its activations.
  void add(HeadGradient& gradient, Activations& at, const SequenceBatch& batch,
           std::span<const float> weights);
  Index n_pass() const { return n_pass_; }

  /// G = the sums of a layer's queries, keys and values, columns first .. first + count - 1.
  /// @param G  (d_model count) x n_attention_port, overwritten: a d_model x count matrix per port.
  void attention(Index layer, Index first, Index count, Matrix& G);
  /// The same of one port: d_model x count.
  blas::ConstView mlp(Index layer, Index first, Index count);
  blas::ConstView logits(Index first, Index count);

  /// Upper bound on the bytes that it keeps.
  static std::uint64_t bytes(const ModelConfig& config, Index n_column, Index n_pass);

 private:
  /// Of a layer's attention in one pass.
  struct Pass {
    Buffer standardized;  // d_model x n_column
    Buffer along;         // n_attention_port x n_column: W_p (gain x) . d / (d_model s)
  };

  void add_port(const PortGradient& port, Activations& at, const SequenceBatch& batch);
  void add_attention(const PortGradient& port, Activations& at, const SequenceBatch& batch);

  Matrix constants_;  // d_qkv x n_layer: W_QKV bias of ln_1 + b_QKV
  Index n_column_ = 0, n_pass_ = 0;
  std::vector<Buffer> scaled_, mlp_;  // by layer: sums of d / s; of the MLP's gradients
  Buffer logits_, dnormalized_, turned_;
  std::vector<std::vector<Pass>> passes_;  // by pass and layer
};

}  // namespace headscope
