#include "compute/packed_attention.hpp"

#include <algorithm>

#include "headscope/ops.hpp"

namespace headscope {

using blas::Transpose;

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
  return {{own(0), own(1), own(2), static_cast<float>(scale)}, stem(1), stem(2)};
}

void segment_pattern(const SegmentInputs& inputs, Index first, Index count, blas::View pattern) {
  const Index n_stem = inputs.stem_K.n_col, n_own = first + count;
  const blas::ConstView queries = inputs.own.Q.cols(first, count);
  if (n_stem > 0) {
    blas::multiply_serial(inputs.stem_K, Transpose::yes, queries, Transpose::no,
                          pattern.rows(0, n_stem), inputs.own.scale);
  }
  blas::multiply_serial(inputs.own.K.cols(0, n_own), Transpose::yes, queries, Transpose::no,
                        pattern.rows(n_stem, n_own), inputs.own.scale);
  for (Index q = 0; q < count; ++q) {
    float* const scores = pattern.data + q * pattern.stride;
    const Index n_seen = n_stem + first + q + 1;
    std::fill(scores + n_seen, scores + n_stem + n_own, 0.0F);
    softmax(scores, n_seen);
  }
}

void packed_attention(const Matrix& qkv, Index n_head, double scale,
                      std::span<const Pack::Segment> segments, Index n_sequence, blas::View z) {
  if (segments.size() == 1) {
    causal_attention(qkv, n_head, scale, n_sequence, z);
    return;
  }
  const Index n_column = qkv.n_cols / n_sequence, d_head = z.n_row / n_head;
  const Index n_slice = n_head * n_sequence;
#pragma omp parallel for schedule(dynamic, 8)
  for (Index task = 0; task < n_slice * segments.size(); ++task) {
    const Index head = task % n_head, sequence = task / n_head % n_sequence;
    const Pack::Segment& segment = segments[task / n_slice];
    const SegmentInputs inputs = segment_inputs(
        blas::ConstView(qkv).cols(sequence * n_column, n_column), n_head, scale, head, segment);
    const Index n_stem = segment.stem_count;
    for (Index first = 0; first < segment.count; first += query_block) {
      const Index count = std::min(query_block, segment.count - first), n_own = first + count;
      const blas::View pattern(thread_scratch((n_stem + n_own) * count), n_stem + n_own, count,
                               n_stem + n_own);
      segment_pattern(inputs, first, count, pattern);
      const blas::View mixed =
          z.rows(head * d_head, d_head).cols(sequence * n_column + segment.first + first, count);
      blas::multiply_serial(inputs.own.V.cols(0, n_own), Transpose::no, pattern.rows(n_stem, n_own),
                            Transpose::no, mixed);
      if (n_stem == 0) continue;
      blas::multiply_serial(inputs.stem_V, Transpose::no, pattern.rows(0, n_stem), Transpose::no,
                            mixed, 1, 1);
    }
  }
}

}  // namespace headscope
