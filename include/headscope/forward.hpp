#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "headscope/blas.hpp"
#include "headscope/compute_context.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// What one layer did to one document or batch. References are valid only during the observer's
/// call.
struct LayerView {
  Index layer;
  Index n_token;             ///< columns
  const Matrix& resid_pre;   ///< d_model x n_token, residual stream entering the layer
  const Matrix& normalized;  ///< d_model x n_token, after ln_1
  const Matrix& qkv;  ///< d_qkv x n_token, rows Q | K | V; a head's first rows are q_row, k_row and
                      ///< v_row of the config. With rotary positions Q and K are turned
  const Cube& pattern;  ///< key x query x head, probability; empty unless an observer wants it,
                        ///< and for batches of several sequences
  const Matrix& z;      ///< d_z x n_token, head h at rows h * d_head
  const Matrix& attention_output;  ///< d_model x n_token, W_O z + b_O
  const Matrix& resid_mid;         ///< d_model x n_token, after attention
  const Matrix& resid_post;        ///< d_model x n_token, after the MLP
};

/// Memory for a layer's projections of a document or batch.
struct ProjectionMemory {
  float* qkv;      ///< d_qkv x n_token, as LayerView::qkv
  float* mlp_pre;  ///< d_in x n_token, hidden units (gate | up) before bias and activation
};

/// Watches a forward pass, a layer at a time.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual bool wants_pattern(Index /*layer*/) const { return false; }
  /// Called before the layer is computed. An observer that keeps projections gives the memory in
  /// which the forward pass leaves them, so that nothing is copied; one observer of a pass can.
  virtual std::optional<ProjectionMemory> projection_memory(Index /*layer*/, Index /*n_token*/) {
    return std::nullopt;
  }
  virtual void observe_layer(const LayerView& view) = 0;
};

/// What a forward pass computes otherwise than the model; an empty function changes nothing.
struct ForwardChange {
  /// Changes what enters the first layer, d_model x n_token.
  std::function<void(Matrix& embeddings)> embeddings = {};
  /// Changes a layer's z before W_O; qkv and z as in LayerView.
  std::function<void(Index layer, const Matrix& qkv, Matrix& z)> z = {};
};

/// The forward pass. Keeps its buffers between calls; the work inside is threaded. The model must
/// outlive it and be complete.
///
/// Sources: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; Touvron et
/// al. 2023, "LLaMA: Open and Efficient Foundation Language Models"; as Hugging Face computes them.
class Forward {
 public:
  /// @param context  its Engines::passes multiplies weights, keys and values, or OpenBLAS in
  ///                 sequences of fewer than 128 tokens.
  /// @throws ShapeError if the model is attention-only.
  explicit Forward(const Model& model, ComputeContext context = {});
  ~Forward();

  /// Runs a document or batch through all layers, showing each to the observers.
  /// @return the residual stream after the last layer, d_model x n_column; valid until the next
  ///         call.
  /// @throws ShapeError if there are no tokens, more than n_ctx, or an id outside the vocabulary,
  /// or the batch's sequences and columns do not fit; DataError naming the model's file and the
  /// layer where activations overflow float32.
  const Matrix& run(const SequenceBatch& batch, std::span<LayerObserver* const> observers = {},
                    const ForwardChange& change = {});
  /// The same with the observers in braces.
  const Matrix& run(const SequenceBatch& batch, std::initializer_list<LayerObserver*> observers,
                    const ForwardChange& change = {}) {
    return run(batch, std::span(observers.begin(), observers.size()), change);
  }

  /// Losses of the predictions from the residual stream after the last layer, in their order: of a
  /// document, tokens 1 .. T-1.
  /// @param resid_final  d_model x n_column.
  /// @throws ShapeError if the counts differ.
  TokenLoss loss(blas::ConstView resid_final, const SequenceBatch& batch);

  /// All logits, d_vocab x n_token: for few tokens, since they take much memory.
  Matrix logits(const Matrix& resid_final);

  /// Upper bound on the bytes that `run` keeps. @param with_patterns  if an observer wants them.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, bool with_patterns);
  /// Upper bound on the bytes that `loss` adds.
  static std::uint64_t loss_bytes(const ModelConfig& config, Index n_token, int n_thread);

 private:
  struct Workspace;

  const Model& model_;
  ComputeContext context_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
