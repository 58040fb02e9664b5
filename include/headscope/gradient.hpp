#pragma once

#include <functional>
#include <memory>
#include <span>

#include "headscope/compute_context.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"
#include "headscope/token_loss.hpp"

namespace headscope {

class Activations;

/// How the loss depends on one layer's heads. References are valid only during the observer's call.
struct LayerGradient {
  Index layer;
  const Matrix& z;   ///< d_z x n_token, head h at rows h * d_head
  const Matrix& dz;  ///< d_z x n_token, d L / d z in nats per unit of z; of a document, L is
                     ///< the mean loss over its predicted tokens
};

/// z[h, t] . g[h, t] of each head and token, n_head x n_token, in nats: to first order, by how much
/// L decreases when z is set to zero there.
/// @throws ShapeError if z and dz differ in shape or n_head does not divide their rows.
arma::mat z_dot_gradient(const LayerGradient& gradient, Index n_head);

using LayerGradientObserver = std::function<void(const LayerGradient&)>;

/// The gradient of L at a reader of the residual stream (attention, MLP or unembedding), not yet
/// taken through the reader's norm. References are valid only during the observer's call.
struct PortGradient {
  enum class Reader {
    attention,  ///< values: d L / d (W_QKV x + b_QKV), d_qkv x n_token
    mlp,        ///< values: d L / d ln_2, d_model x n_token
    logits,     ///< values: d L / d ln_f, d_model x number of predictions, in their order
  };
  Index layer;  ///< n_layer for the logits
  Reader reader;
  const Matrix& values;
  const Matrix& computed;  ///< attention: W_QKV x + b_QKV, turned by position; else `values`
};

using PortGradientObserver = std::function<void(const PortGradient&)>;

/// The importance of all heads from one backward pass:
///
///   g = dL / dz,   importance of head h = sum over t of |z[h, t] . g[h, t]|
///
/// Reverse-mode differentiation with respect to activations; weight gradients are not computed.
/// Patterns are recomputed in blocks of queries; so are queries, keys, values and hidden units,
/// a sixth of a forward and backward pass of GPT-2 small, unless HeadAblation::keep_projections
/// kept them. Keeps its buffers between calls. The model must outlive it and be complete.
///
/// Memory: `bytes`, about (18 + n_thread) d_model n_token floats for GPT-2. Source: Michel et al.
/// 2019, "Are Sixteen Heads Really Better than One?".
class HeadGradient {
 public:
  /// @throws ShapeError if the model is attention-only.
  explicit HeadGradient(const Model& model, ComputeContext context = {});
  ~HeadGradient();

  /// Passes each layer's gradient to `observe`, last layer first, for L = the mean loss of a
  /// document. A document of one token predicts nothing: its gradients are zero.
  /// @param clean  HeadAblation::activations() of the document.
  /// @return       the document's losses.
  /// @throws ShapeError if the numbers of tokens differ.
  TokenLoss run(Activations& clean, std::span<const TokenId> tokens,
                const LayerGradientObserver& observe);

  /// The same for a batch and L = sum over its predictions of weight times negative log likelihood.
  /// Sequences of a batch do not depend on each other: the gradient at a column is that of the
  /// predictions of its own sequences.
  /// @param weights  one per prediction.
  /// @param ports    if given, is shown the gradients of all ports too, last layer first.
  TokenLoss run(Activations& clean, const SequenceBatch& batch, std::span<const float> weights,
                const LayerGradientObserver& observe, const PortGradientObserver& ports = {});

  /// Upper bound on the bytes that it keeps, what it keeps in the context included.
  static std::uint64_t bytes(const ModelConfig& config, Index n_token, int n_thread,
                             const Engines& engines);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace headscope
