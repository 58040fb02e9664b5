#include "compute/causal_attention.hpp"

#include <algorithm>

#include "base/thread_errors.hpp"
#include "compute/divisor.hpp"
#include "compute/scratch.hpp"
#include "headscope/attention.hpp"
#include "headscope/error.hpp"
#include "headscope/ops.hpp"

namespace headscope {
namespace {

using blas::Transpose;

// Below this many multiply-adds, waking the threads takes longer than the work.
constexpr Index least_parallel_work = 4'000'000;

// Attention of one head and segment, whose keys and values are made ready once. Keeps its memory.
class SegmentAttention {
 public:
  void set(const SegmentInputs& inputs, Engine engine) {
    engine_ = engine;
    n_stem_ = inputs.n_stem();
    pattern_.set(inputs, engine);
    values_.set(inputs.V, Transpose::no, engine);
    if (n_stem_ > 0) stem_values_.set(inputs.stem_V, Transpose::no, engine);
  }

  // @param pattern  as that of SegmentPattern::compute.
  // @param z        d_head x count, overwritten.
  void compute(Index first, Index count, blas::View pattern, blas::View z) {
    pattern_.compute(first, count, pattern);
    split_pattern_.set(pattern.rows(n_stem_, first + count), engine_);
    values_.multiply(split_pattern_, z);
    if (n_stem_ == 0) return;
    split_pattern_.set(pattern.rows(0, n_stem_), engine_);
    stem_values_.multiply(split_pattern_, z, true);
  }

 private:
  Engine engine_ = Engine::float32;
  Index n_stem_ = 0;
  SegmentPattern pattern_;
  SplitWeights values_, stem_values_;
  SplitColumns split_pattern_;
};

// The attention of all heads to copies of a pack.
struct PackAttention {
  blas::ConstView qkv;
  Index n_head;
  double scale;
  Index n_sequence;
  blas::View z;
  Engine engine;
  Cube* pattern;  // of a pack of one segment; may be null

  Index n_slice() const { return n_head * n_sequence; }
  Index n_column() const { return qkv.n_col / n_sequence; }

  // Every n_piece-th block of queries of one head, sequence and segment, from number `piece` on.
  void run(const Pack::Segment& segment, Index slice, Index piece, Index n_piece) const {
    thread_local SegmentAttention attention;
    const Index head = slice % n_head, first_column = slice / n_head * n_column();
    const Engine chosen = product_engine(engine, segment.count);
    attention.set(segment_inputs(qkv.cols(first_column, n_column()), n_head, scale, head, segment),
                  chosen);
    const Index d_head = z.n_row / n_head, block = queries_at_once(chosen);
    const blas::View z_head = z.rows(head * d_head, d_head).cols(first_column, n_column());
    for (Index first = piece * block; first < segment.count; first += n_piece * block) {
      const Index count = std::min(block, segment.count - first);
      const Index n_key = segment.stem_count + first + count;
      const blas::View scores = pattern == nullptr
                                    ? blas::View(thread_scratch(n_key * count), n_key, count, n_key)
                                    : pattern_columns(slice, first, n_key, count);
      attention.compute(first, count, scores, z_head.cols(segment.first + first, count));
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

// Pieces of a lone segment's queries that go to threads by themselves: a block each, but for
// engines that pack keys and values, which they do for each piece anew, no more than keep the
// threads busy.
Index piece_count(Index n_query, Index n_slice, Engine engine) {
  const Index n_block = (n_query + queries_at_once(engine) - 1) / queries_at_once(engine);
  if (!is_packed(engine)) return n_block;
  const Index wanted = 2 * static_cast<Index>(blas::thread_count());
  return std::min(n_block, (wanted + n_slice - 1) / n_slice);
}

void run(const PackAttention& attention, std::span<const Pack::Segment> segments) {
  const Index n_slice = attention.n_slice();
  Index work = 0;
  for (const Pack::Segment& segment : segments) {
    work += attention.qkv.n_row * attention.n_sequence * segment.count *
            (segment.stem_count + segment.count) / 3;
  }
  const bool alone = segments.size() == 1;
  const Index first_count = segments.front().count;
  const Index n_piece =
      alone ? piece_count(first_count, n_slice, product_engine(attention.engine, first_count)) : 1;
  const Index n_task = n_piece * n_slice * segments.size();
  ThreadErrors errors;
#pragma omp parallel for schedule(dynamic, alone ? 1 : 8) if (work >= least_parallel_work)
  for (Index task = 0; task < n_task; ++task) {
    // The last pieces have the most keys: they go first, so that the threads finish together.
    const Index piece = n_piece - 1 - task / n_slice % n_piece;
    errors.run(
        [&] { attention.run(segments[task / n_slice / n_piece], task % n_slice, piece, n_piece); });
  }
  errors.rethrow();
}

}  // namespace

SegmentInputs segment_inputs(blas::ConstView columns, Index n_head, double scale, Index head,
                             const Pack::Segment& segment) {
  const Index d_model = columns.n_row / 3, d_head = d_model / n_head;
  const auto part = [&](Index which, Index first, Index count) {
    return columns.rows(which * d_model + head * d_head, d_head).cols(first, count);
  };
  const auto own = [&](Index which) { return part(which, segment.first, segment.count); };
  const auto stem = [&](Index which) {
    return part(which, segment.stem_first, segment.stem_count);
  };
  return {own(0), own(1), own(2), stem(1), stem(2), static_cast<float>(scale)};
}

Index queries_at_once(Engine engine) {
  return is_packed(engine) ? Arithmetic::block : 64;
}

void SegmentPattern::set(const SegmentInputs& inputs, Engine engine) {
  inputs_ = inputs;
  engine_ = engine;
  keys_.set(inputs.K, Transpose::yes, engine);
  if (inputs.n_stem() > 0) stem_keys_.set(inputs.stem_K, Transpose::yes, engine);
}

void SegmentPattern::compute(Index first, Index count, blas::View pattern) {
  const Index n_stem = inputs_.n_stem(), n_own = first + count;
  queries_.set(inputs_.Q.cols(first, count), engine_, inputs_.scale);
  if (n_stem > 0) stem_keys_.multiply(queries_, pattern.rows(0, n_stem));
  keys_.multiply(queries_, pattern.rows(n_stem, n_own));
  for (Index q = 0; q < count; ++q) {
    float* const scores = pattern.data + q * pattern.stride;
    const Index n_seen = n_stem + first + q + 1;
    std::fill(scores + n_seen, scores + n_stem + n_own, 0.0F);
    softmax(scores, n_seen);
  }
}

void packed_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const Pack::Segment> segments, Index n_sequence, blas::View z,
                      Engine engine) {
  run({qkv, n_head, scale, n_sequence, z, engine, nullptr}, segments);
}

void causal_attention(const Matrix& qkv, Index n_head, double scale, Index n_sequence, blas::View z,
                      Cube* pattern, Engine engine) {
  check_count("attention output columns", qkv.n_cols, z.n_col);
  check_count("query, key and value rows", 3 * z.n_row, qkv.n_rows);
  check_divisor("heads", z.n_row, n_head);
  check_divisor("sequences", qkv.n_cols, n_sequence);
  const Pack::Segment whole{0, qkv.n_cols / n_sequence};
  if (pattern != nullptr) {
    check_count("pattern keys", whole.count, pattern->n_rows);
    check_count("pattern queries", whole.count, pattern->n_cols);
    check_count("pattern slices", n_head * n_sequence, pattern->n_slices);
  }
  run({qkv, n_head, scale, n_sequence, z, engine, pattern}, {&whole, 1});
}

std::uint64_t attention_thread_bytes(Index d_head, Index n_token, Engine engine) {
  const Index count = queries_at_once(engine);
  // The pattern of a block of queries; queries; keys and values; the pattern again.
  return n_token * count * sizeof(float) + SplitColumns::bytes(d_head, count, engine) +
         2 * SplitWeights::bytes(d_head, n_token, engine) +
         SplitColumns::bytes(n_token, count, engine);
}

}  // namespace headscope
