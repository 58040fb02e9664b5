#pragma once

#include <optional>
#include <span>

#include "compute/product/weight_product.hpp"
#include "headscope/pack.hpp"

namespace headscope {

/// One head's queries, keys and values of a segment, and the keys and values of its stem.
struct SegmentInputs {
  blas::ConstView Q, K, V;         ///< d_head x count
  blas::ConstView stem_K, stem_V;  ///< d_head x stem_count
  float scale = 1;

  Index n_stem() const { return stem_K.n_col; }
};

/// @param scale    scores are q.k * scale (ModelConfig::score_scale).
/// @param columns  3 (n_head d_head) x n_column of one pack: rows Q | K | V.
SegmentInputs segment_inputs(blas::ConstView columns, Index n_head, double scale, Index head,
                             const Pack::Segment& segment);

/// Queries processed together: their scores for all keys stay in the second-level cache, and a
/// causal mask wastes only half a block.
Index queries_at_once(bool packs);
inline constexpr Index most_queries_at_once = 64;

/// Patterns of one head and segment, whose keys are made ready once. Works on the calling thread
/// and keeps its memory for the next head.
class SegmentPattern {
 public:
  /// @param inputs  must outlive the use of their patterns.
  void set(const SegmentInputs& inputs, const Products& products);

  /// The pattern of queries first .. first + count - 1.
  /// @param pattern  (n_stem + first + count) x count, overwritten: keys of the stem, then those of
  ///                 the segment; zero for keys after the query.
  void compute(Index first, Index count, blas::View pattern);

 private:
  SegmentInputs inputs_;
  std::optional<Products> products_;
  PackedWeights keys_, stem_keys_;
  PackedColumns queries_;
};

/// Causal self-attention of the sequences of a pack; threads over heads and segments, or over
/// blocks of queries if there is only one segment.
///
/// @param qkv         3 (n_head d_head) x (n_column n_sequence): rows Q | K | V; copies of the pack
///                    side by side.
/// @param scale       scores are q.k * scale (ModelConfig::score_scale).
/// @param segments    of the pack.
/// @param n_sequence  copies.
/// @param z           (n_head d_head) x (n_column n_sequence), overwritten.
/// @param products    of keys and values; OpenBLAS multiplies segments of fewer than 128 queries.
/// @param pattern     n_column x n_column x (n_head n_sequence) of a pack of one segment,
///                    overwritten, zero for keys after the query; or null.
void packed_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const Pack::Segment> segments, Index n_sequence, blas::View z,
                      const Products& products, Cube* pattern = nullptr);

/// Bytes of the work space that each thread keeps for segments that have at most n_token tokens
/// with their stems.
std::uint64_t attention_thread_bytes(Index d_head, Index n_token, Engine engine);

}  // namespace headscope
