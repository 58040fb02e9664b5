#pragma once

#include "headscope/model.hpp"

namespace headscope {

/// Where heads look when all they see is the position.
struct PositionOnlyAttention {
  arma::mat share;  ///< n_head x 9: mean mass on the key `offset` positions back, offsets 0 .. 8
  arma::vec sink;   ///< n_head: mean mass on position 0
};

/// Attention of one layer over the first 128 position embeddings alone, put through the layer's
/// ln_1, causal; means over queries >= 2. A query with fewer than `offset` keys before it counts as
/// no mass there.
/// Exact for what layer 0 adds by position alone; deeper layers read a residual stream instead.
/// @return NaN when the model has fewer than 3 positions.
PositionOnlyAttention position_only_attention(const Model& model, Index layer);

}  // namespace headscope
