#pragma once

#include "headscope/model.hpp"

namespace headscope {

/// Offsets 0 .. 8 positions back are measured.
inline constexpr Index n_position_offset = 9;

/// Number of positions used: 128, or the context length if that is less.
Index n_position_used(const Model& model);

/// Attention of the heads of one layer when the input holds positions alone.
struct PositionOnlyAttention {
  arma::mat share;  ///< n_head x n_position_offset: mean mass on the key `offset` positions back
  arma::vec sink;   ///< n_head: mean mass on position 0
};

/// Causal attention of one layer over the first n_position_used position embeddings alone, after
/// the layer's ln_1; means over queries >= 2. A query with fewer than `offset` keys before it
/// counts as mass 0 at that offset. An approximation beyond layer 0, where the input is a residual
/// stream.
/// @return NaN if the model has fewer than 3 positions.
PositionOnlyAttention position_only_attention(const Model& model, Index layer);

}  // namespace headscope
