#pragma once

#include <span>

#include "compute/attention_block.hpp"
#include "headscope/pack.hpp"

namespace headscope {

/// One head's queries, keys and values of a segment, and the keys and values of its stem.
struct SegmentInputs {
  HeadInputs own;                  ///< d_head x count
  blas::ConstView stem_K, stem_V;  ///< d_head x stem_count
};

/// @param scale    scores are q.k * scale (ModelConfig::score_scale).
/// @param columns  3 (n_head d_head) x n_column of one pack: rows Q | K | V.
SegmentInputs segment_inputs(blas::ConstView columns, Index n_head, double scale, Index head,
                             const Pack::Segment& segment);

/// The pattern of queries first .. first + count - 1 of a segment, on the calling thread.
/// @param pattern  (stem_count + first + count) x count, overwritten: keys of the stem, then those
///                 of the segment; zero for keys after the query.
void segment_pattern(const SegmentInputs& inputs, Index first, Index count, blas::View pattern);

/// Causal self-attention of the sequences of a pack; threads over heads and segments.
///
/// @param qkv         3 (n_head d_head) x (n_column n_sequence): rows Q | K | V; copies of the pack
///                    side by side.
/// @param scale       scores are q.k * scale (ModelConfig::score_scale).
/// @param z           (n_head d_head) x (n_column n_sequence), overwritten.
void packed_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const Pack::Segment> segments, Index n_sequence, blas::View z);

}  // namespace headscope
