#pragma once

#include "headscope/model.hpp"

namespace headscope {

/// Offsets told apart: 0 .. 8 positions back.
inline constexpr Index n_position_offset = 9;

/// Positions that are looked at: 128, or all of a model with fewer.
Index n_position_used(const Model& model);

/// Where heads look when all they see is the position.
struct PositionOnlyAttention {
  arma::mat share;  ///< n_head x n_position_offset: mean mass on the key `offset` positions back,
                    ///< offsets 0 .. 8
  arma::vec sink;   ///< n_head: mean mass on position 0
};

/// Attention of one layer over the first position embeddings (n_position_used) alone, put through
/// the layer's ln_1, causal; means over queries >= 2. A query with fewer than `offset` keys before
/// it counts as no mass there. Exact for what layer 0 adds by position alone; deeper layers read a
/// residual stream instead.
/// @return NaN when the model has fewer than 3 positions.
PositionOnlyAttention position_only_attention(const Model& model, Index layer);

}  // namespace headscope
