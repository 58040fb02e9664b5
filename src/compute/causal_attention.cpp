#include "compute/causal_attention.hpp"

#include <algorithm>

#include "base/thread_errors.hpp"
#include "compute/buffer.hpp"
#include "compute/ops.hpp"

namespace headscope {
namespace {

using blas::Transpose;

// Below this many multiply-adds, waking the threads takes longer than the work.
constexpr Index least_parallel_work = 4'000'000;

// Attention of one head in one sequence. Packs its keys and values once; keeps its memory.
class SequenceAttention {
 public:
  void set(const SequenceInputs& inputs, const Products& products) {
    products_ = products;
    n_prefix_ = inputs.n_prefix();
    pattern_.set(inputs, products);
    values_.set(inputs.V, Transpose::no, products);
    if (n_prefix_ > 0) prefix_values_.set(inputs.prefix_V, Transpose::no, products);
  }

  // Room for the pattern of a block of queries.
  blas::View scores(Index n_key, Index count) {
    Matrix scores = scores_.matrix(n_key, count);
    return scores;
  }

  // @param pattern  as that of SequencePattern::compute.
  // @param z        d_head x count, overwritten.
  void compute(Index first, Index count, blas::View pattern, blas::View z) {
    pattern_.compute(first, count, pattern);
    packed_pattern_.set(pattern.rows(n_prefix_, first + count), *products_);
    values_.multiply(packed_pattern_, z);
    if (n_prefix_ == 0) return;
    packed_pattern_.set(pattern.rows(0, n_prefix_), *products_);
    prefix_values_.multiply(packed_pattern_, z, true);
  }

 private:
  std::optional<Products> products_;
  Index n_prefix_ = 0;
  SequencePattern pattern_;
  PackedWeights values_, prefix_values_;
  PackedColumns packed_pattern_;
  Buffer scores_;
};

// The attention of all heads in copies of a batch.
struct BatchAttention {
  blas::ConstView qkv;
  ModelConfig heads;
  double scale;
  Index n_copy;
  blas::View z;
  Products products;
  Cube* pattern;  // of a batch of one sequence; may be null

  Index n_slice() const { return heads.n_head * n_copy; }
  Index n_column() const { return qkv.n_col / n_copy; }

  // Every n_share-th block of queries of one head and sequence in one copy, beginning with block
  // number `share`.
  void run(const SequenceBatch::Sequence& sequence, Index slice, Index share, Index n_share) const {
    auto& attention = products.scratch().of_thread<SequenceAttention>();
    const Index head = slice % heads.n_head, first_column = slice / heads.n_head * n_column();
    const Products chosen = products.for_columns(sequence.count);
    attention.set(sequence_inputs(qkv.cols(first_column, n_column()), heads, scale, head, sequence),
                  chosen);
    const Index block = queries_at_once(chosen.packs());
    const blas::View z_head =
        z.rows(heads.q_row(head), heads.d_head()).cols(first_column, n_column());
    for (Index first = share * block; first < sequence.count; first += n_share * block) {
      const Index count = std::min(block, sequence.count - first);
      const Index n_key = sequence.prefix_count + first + count;
      const blas::View scores = pattern == nullptr ? attention.scores(n_key, count)
                                                   : pattern_columns(slice, first, n_key, count);
      attention.compute(first, count, scores, z_head.cols(sequence.first + first, count));
    }
  }

  // Where the caller wants a block's pattern; zero for the keys after the block.
  blas::View pattern_columns(Index slice, Index first, Index n_key, Index count) const {
    for (Index q = first; q < first + count; ++q) {
      float* const column = pattern->slice_colptr(slice, q);
      std::fill(column + n_key, column + pattern->n_rows, 0.0F);
    }
    return {pattern->slice_colptr(slice, first), n_key, count, pattern->n_rows};
  }
};

// Shares into which the queries of a lone sequence are divided for the threads: one for each block.
// Engines that batch keys and values do so for each share, and get only as many as keep the threads
// busy.
Index share_count(Index n_query, Index n_slice, bool packs) {
  const Index n_block = (n_query + queries_at_once(packs) - 1) / queries_at_once(packs);
  if (!packs) return n_block;
  const Index wanted = 2 * static_cast<Index>(blas::thread_count());
  return std::min(n_block, (wanted + n_slice - 1) / n_slice);
}

}  // namespace

ModelConfig config_of_heads(Index n_row, Index n_head, Index d_head) {
  ModelConfig heads;
  heads.n_head = n_head;
  heads.n_kv_head = (n_row / d_head - n_head) / 2;
  heads.head_width = d_head;
  return heads;
}

SequenceInputs sequence_inputs(blas::ConstView columns, const ModelConfig& heads, double scale,
                               Index head, const SequenceBatch::Sequence& sequence) {
  const auto rows_from = [&](Index row) {
    return columns.rows(row, heads.d_head()).cols(sequence.first, sequence.count);
  };
  const auto prefix = [&](Index row) {
    return columns.rows(row, heads.d_head()).cols(sequence.prefix_first, sequence.prefix_count);
  };
  const Index q = heads.q_row(head), k = heads.k_row(head), v = heads.v_row(head);
  return {rows_from(q), rows_from(k), rows_from(v),
          prefix(k),    prefix(v),    static_cast<float>(scale)};
}

Index queries_at_once(bool packs) {
  return packs ? Arithmetic::block : most_queries_at_once;
}

void SequencePattern::set(const SequenceInputs& inputs, const Products& products) {
  inputs_ = inputs;
  products_ = products;
  keys_.set(inputs.K, Transpose::yes, products);
  if (inputs.n_prefix() > 0) prefix_keys_.set(inputs.prefix_K, Transpose::yes, products);
}

void SequencePattern::compute(Index first, Index count, blas::View pattern) {
  const Index n_prefix = inputs_.n_prefix(), n_in_sequence = first + count;
  queries_.set(inputs_.Q.cols(first, count), *products_, inputs_.scale);
  if (n_prefix > 0) prefix_keys_.multiply(queries_, pattern.rows(0, n_prefix));
  keys_.multiply(queries_, pattern.rows(n_prefix, n_in_sequence));
  for (Index q = 0; q < count; ++q) {
    float* const scores = pattern.column(q);
    const Index n_seen = n_prefix + first + q + 1;
    const Index n_unseen = n_prefix + n_in_sequence - n_seen;
    // A softmax of whole vectors is faster than one of what is seen alone.
    std::fill_n(scores + n_seen, n_unseen, -infinity);
    softmax(scores, n_seen + n_unseen);
    std::fill_n(scores + n_seen, n_unseen, 0.0F);
  }
}

void causal_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const SequenceBatch::Sequence> sequences, Index n_copy,
                      blas::View z, const Products& products, Cube* pattern) {
  const ModelConfig heads = config_of_heads(qkv.n_rows, n_head, z.n_row / n_head);
  const BatchAttention attention{qkv, heads, scale, n_copy, z, products, pattern};
  const Index n_slice = attention.n_slice();
  Index work = 0;
  for (const SequenceBatch::Sequence& sequence : sequences) {
    work += attention.z.n_row * attention.n_copy * sequence.count *
            (sequence.prefix_count + sequence.count);
  }
  const bool alone = sequences.size() == 1;
  const Index first_count = sequences.front().count;
  const bool packs = attention.products.for_columns(first_count).packs();
  const Index n_share = alone ? share_count(first_count, n_slice, packs) : 1;
  const Index n_task = n_share * n_slice * sequences.size();
  ThreadErrors errors;
#pragma omp parallel for schedule(dynamic, alone ? 1 : 8) if (work >= least_parallel_work)
  for (Index task = 0; task < n_task; ++task) {
    // The last shares have the most keys: they go first, so that the threads finish together.
    const Index share = n_share - 1 - task / n_slice % n_share;
    errors.run([&] {
      attention.run(sequences[task / n_slice / n_share], task % n_slice, share, n_share);
    });
  }
  errors.rethrow();
}

std::uint64_t attention_thread_bytes(Index d_head, Index n_token, Engine engine) {
  const Index count = most_queries_at_once;
  // The pattern of a block of queries; queries; keys and values; the pattern again.
  return n_token * count * sizeof(float) + packed_bytes(d_head, count, engine) +
         2 * packed_bytes(d_head, n_token, engine) + packed_bytes(n_token, count, engine);
}

}  // namespace headscope
