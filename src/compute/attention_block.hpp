#pragma once

#include <vector>

#include "headscope/attention.hpp"

namespace headscope {

/// Queries processed together: the scores of this many queries for all keys stay in the
/// second-level cache, and a causal mask wastes only half a block.
inline constexpr Index query_block = 64;

/// One head's queries, keys and values, feature x position: row blocks of larger matrices.
struct HeadInputs {
  blas::ConstView Q;  ///< d_head x n_query
  blas::ConstView K;  ///< d_head x n_key
  blas::ConstView V;  ///< d_value x n_key
  float scale = 1;
};

/// softmax(mask(K' Q scale)) for queries first .. first + count - 1, on the calling thread.
/// @param pattern  n_key x count, overwritten.
/// @return         number of leading keys that any of these queries may see; later rows are zero.
Index pattern_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                    blas::View pattern);

/// pattern_block, then z = V pattern.
/// @param z  d_value x count, overwritten.
void attend_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                  blas::View pattern, blas::View z);

/// At least `size` floats for the calling thread, valid until its next call.
float* thread_scratch(std::size_t size);

}  // namespace headscope
