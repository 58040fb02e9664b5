#pragma once

#include <vector>

#include "headscope/attention.hpp"

namespace headscope {

/// Queries handled together: scores for this many and all their keys stay in the second-level
/// cache, and a causal mask wastes only half a block.
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
/// @return         how many leading keys any of these queries may see; rows from there on are zero.
Index pattern_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                    blas::View pattern);

/// pattern_block, and z = V pattern.
/// @param z  d_value x count, overwritten.
void attend_block(const HeadInputs& head, const AttentionMask& mask, Index first, Index count,
                  blas::View pattern, blas::View z);

/// At least `size` floats that belong to the calling thread until it asks again.
float* thread_scratch(std::size_t size);

}  // namespace headscope
