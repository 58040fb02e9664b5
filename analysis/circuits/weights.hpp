#pragma once

#include <array>

#include "headscope/model.hpp"

namespace headscope {

enum class Projection { q, k, v, o };
inline constexpr std::array<Projection, 4> all_projections{Projection::q, Projection::k,
                                                           Projection::v, Projection::o};

/// One layer's attention weights, each matrix with the residual stream along its rows.
/// In row-vector notation (Y = X W) W_Q, W_K, W_V are as written and W_O is transposed.
struct CircuitWeights {
  Index n_head = 0;
  arma::mat W_Q, W_K, W_V, W_O;  ///< d_model x (n_head d_head), head h at columns h * d_head

  Index d_head() const { return W_Q.n_cols / n_head; }
  const arma::mat& of(Projection projection) const;
  /// One head's columns, d_model x d_head, copied.
  arma::mat of(Projection projection, Index head) const;
};

/// Heads that share keys and values have the same columns of W_K and W_V.
/// @param fold_layer_norm  scale the rows of W_Q, W_K, W_V by ln_1's gain and subtract from each
/// column of all four its mean: LayerNorm removes the mean over features. RMSNorm does not, so with
/// it nothing is subtracted.
/// Source: TransformerLens, `fold_ln`, `center_writing_weights`.
CircuitWeights circuit_weights(const Model& model, Index layer, bool fold_layer_norm);

}  // namespace headscope
