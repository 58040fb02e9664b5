#pragma once

#include <span>
#include <vector>

#include "headscope/blas.hpp"
#include "headscope/model.hpp"
#include "headscope/types.hpp"

/// Direct logit attribution: what each component of the model adds to a difference of logits.
///
/// The residual stream x after the last layer is the sum of what embeddings, heads, the biases b_O
/// and MLPs write. With the final norm's scale held fixed, a difference of logits is linear in x:
///
///   logit[a] - logit[b] = direction . x / scale + constant
///   u = W_U[:, a] - W_U[:, b]
///   direction = gain u - mean(gain u),   constant = bias . u + b_U[a] - b_U[b]
///   scale = sqrt(variance(x) + epsilon)
///
/// with gain and bias of ln_f. Subtracting the mean from the direction stands for subtracting it
/// from x; RMSNorm subtracts none and has no bias. A component that writes y has the direct effect
/// direction . y / scale, in logits. The direct effects of all components and the constant add up
/// to the difference.
///
/// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
namespace headscope {

/// The directions of n differences of logits, one per column.
struct LogitDirections {
  Matrix directions;             ///< d_model x n
  std::vector<double> constant;  ///< n, logits
};

/// Makes directions. The model must outlive it and be complete.
class LogitAttribution {
 public:
  /// @throws ShapeError if the model is attention-only.
  explicit LogitAttribution(const Model& model);

  /// logit[a[i]] - logit[b[i]].
  /// @throws ShapeError if the counts differ or a token is not in the vocabulary.
  LogitDirections differences(std::span<const TokenId> a, std::span<const TokenId> b) const;

  /// The next token's logit minus the mean logit of the vocabulary, at tokens 0 .. T-2 of a
  /// document: n = T - 1.
  /// @throws ShapeError if a token is not in the vocabulary.
  LogitDirections next_tokens(std::span<const TokenId> tokens) const;

 private:
  Index checked(TokenId token) const;
  LogitDirections directions(const Matrix& unembedded, std::vector<double> bias) const;

  const Model& model_;
  Vector mean_unembedding_;  // d_model, over the vocabulary
  double mean_bias_ = 0;
};

/// The final norm's scale of every token: sqrt(variance + epsilon), or of RMSNorm
/// sqrt(mean square + epsilon).
/// @param resid_final  d_model x n, after the last layer.
std::vector<double> final_scales(const Model& model, blas::ConstView resid_final);

/// direction . y of every token, before the division by the scale.
/// @param written     d_model x n, what a component of the model writes to the residual stream.
/// @param directions  d_model x n.
/// @throws ShapeError if the shapes differ.
std::vector<double> direct_effects(blas::ConstView written, blas::ConstView directions);

/// The same for every head of a layer, which writes W_O[h] z_h; b_O is no head's.
/// @param W_O         d_model x d_z; head h at columns h * d_head.
/// @param z           d_z x n, head h at rows h * d_head.
/// @param directions  d_model x n.
/// @return            n_head x n.
/// @throws ShapeError if the shapes differ.
arma::mat head_direct_effects(const Matrix& W_O, blas::ConstView z, blas::ConstView directions,
                              Index n_head);

}  // namespace headscope
