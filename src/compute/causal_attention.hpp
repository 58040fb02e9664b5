#pragma once

#include <optional>
#include <span>

#include "compute/product/weight_product.hpp"
#include "headscope/config.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// One head's queries, keys and values of a sequence, and the keys and values of its prefix.
struct SequenceInputs {
  blas::ConstView Q, K, V;             ///< d_head x count
  blas::ConstView prefix_K, prefix_V;  ///< d_head x prefix_count
  float scale = 1;

  Index n_prefix() const { return prefix_K.n_col; }
};

/// The config of heads whose queries, keys and values have `n_row` rows together: it says where the
/// rows of each lie.
/// @param d_head  divides n_row.
ModelConfig config_of_heads(Index n_row, Index n_head, Index d_head);

/// @param scale    scores are q.k * scale (ModelConfig::score_scale).
/// @param columns  of one batch: rows Q | K | V.
SequenceInputs sequence_inputs(blas::ConstView columns, const ModelConfig& heads, double scale,
                               Index head, const SequenceBatch::Sequence& sequence);

/// The number of queries in a block: scores for all keys stay in the second-level cache, and a
/// causal mask wastes only half a block. @param packs  Products::packs.
Index queries_at_once(bool packs);
inline constexpr Index most_queries_at_once = 64;

/// Patterns of one head in one sequence. Packs the keys once, works on the calling thread, and
/// keeps its memory for the next head.
class SequencePattern {
 public:
  /// @param inputs  must outlive the use of their patterns.
  void set(const SequenceInputs& inputs, const Products& products);

  /// The pattern of queries first .. first + count - 1.
  /// @param pattern  (n_prefix + first + count) x count, overwritten: keys of the prefix, then of
  ///                 the sequence; zero for keys after the query.
  void compute(Index first, Index count, blas::View pattern);

 private:
  SequenceInputs inputs_;
  std::optional<Products> products_;
  PackedWeights keys_, prefix_keys_;
  PackedColumns queries_;
};

/// Causal self-attention of the sequences of a batch; threads over heads and sequences, or over
/// blocks of queries if there is only one sequence.
///
/// @param qkv         ((n_head + 2 n_group) d_head) x (n_column n_copy): rows Q | K | V; heads
///                    may share keys and values. Copies of the batch, with different values, lie
///                    side by side.
/// @param scale       scores are q.k * scale (ModelConfig::score_scale).
/// @param sequences   of the batch.
/// @param n_copy      number of copies.
/// @param z           (n_head d_head) x (n_column n_copy), overwritten.
/// @param products    of keys and values; OpenBLAS multiplies sequences of fewer than 128 queries.
/// @param pattern     n_column x n_column x (n_head n_copy) of a batch of one sequence,
///                    overwritten, zero for keys after the query; or null.
void causal_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const SequenceBatch::Sequence> sequences, Index n_copy,
                      blas::View z, const Products& products, Cube* pattern = nullptr);

/// Bytes of the work space that each thread keeps for sequences that have at most n_token tokens
/// with their prefixes.
std::uint64_t attention_thread_bytes(Index d_head, Index n_token, Engine engine);

}  // namespace headscope
