#include "compute/attention_gradient.hpp"

#include <algorithm>

#include "compute/packed_attention.hpp"
#include "compute/vector_math.hpp"

namespace headscope {
namespace {

// Backpropagates one query through softmax and scale, overwriting dA:
// dS = A (dA - sum over keys of A dA) scale.
HEADSCOPE_VECTORISED void softmax_gradient(const float* A, Index n_key, float scale, float* dA) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index k = 0; k < n_key; ++k) sum += static_cast<double>(A[k] * dA[k]);
  const auto mean = static_cast<float>(sum);
#pragma omp simd
  for (Index k = 0; k < n_key; ++k) dA[k] = A[k] * (dA[k] - mean) * scale;
}

struct HeadGradients {
  blas::View dQ, dK, dV;  // d_head x n_column
};

void clear(blas::View values) {
  for (Index t = 0; t < values.n_col; ++t) {
    std::fill_n(values.data + t * values.stride, values.n_row, 0.0F);
  }
}

// Queries first .. first + count - 1 of one head and segment: overwrites their dQ, adds to dK and
// dV of the segment and its stem.
void add_block(const SegmentInputs& in, const Pack::Segment& segment, blas::ConstView dz,
               Index first, Index count, const HeadGradients& out) {
  using blas::Transpose;
  const Index n_stem = segment.stem_count, n_own = first + count, n_key = n_stem + n_own;
  float* const scratch = thread_scratch(2 * n_key * count);
  const blas::View A(scratch, n_key, count, n_key);
  const blas::View dS(scratch + n_key * count, n_key, count, n_key);
  segment_pattern(in, first, count, A);
  const blas::ConstView dz_block = dz.cols(segment.first + first, count);
  const auto for_keys = [&](const auto& visit) {
    visit(in.own.K.cols(0, n_own), in.own.V.cols(0, n_own), n_stem, n_own, segment.first);
    if (n_stem > 0) visit(in.stem_K, in.stem_V, Index{0}, n_stem, segment.stem_first);
  };
  for_keys([&](blas::ConstView /*K*/, blas::ConstView V, Index row, Index n_row, Index /*column*/) {
    blas::multiply_serial(V, Transpose::yes, dz_block, Transpose::no, dS.rows(row, n_row));
  });
  for (Index q = 0; q < count; ++q) {
    softmax_gradient(A.data + q * n_key, n_key, in.own.scale, dS.data + q * n_key);
  }
  const blas::ConstView queries = in.own.Q.cols(first, count);
  const blas::View dQ = out.dQ.cols(segment.first + first, count);
  for_keys([&](blas::ConstView K, blas::ConstView /*V*/, Index row, Index n_row, Index column) {
    // The segment's own keys come first and overwrite dQ; those of the stem are added.
    blas::multiply_serial(K, Transpose::no, dS.rows(row, n_row), Transpose::no, dQ, 1,
                          column == segment.first ? 0 : 1);
    blas::multiply_serial(queries, Transpose::no, dS.rows(row, n_row), Transpose::yes,
                          out.dK.cols(column, n_row), 1, 1);
    blas::multiply_serial(dz_block, Transpose::no, A.rows(row, n_row), Transpose::yes,
                          out.dV.cols(column, n_row), 1, 1);
  });
}

}  // namespace

void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale,
                               std::span<const Pack::Segment> segments, blas::ConstView dz,
                               blas::View dqkv) {
  const Index d_model = dz.n_row, d_head = d_model / n_head;
#pragma omp parallel for schedule(dynamic)
  for (Index h = 0; h < n_head; ++h) {
    const auto out = [&](Index part) { return dqkv.rows(part * d_model + h * d_head, d_head); };
    const HeadGradients gradients{out(0), out(1), out(2)};
    clear(gradients.dK);
    clear(gradients.dV);
    for (const Pack::Segment& segment : segments) {
      const SegmentInputs inputs = segment_inputs(qkv, n_head, scale, h, segment);
      for (Index first = 0; first < segment.count; first += query_block) {
        add_block(inputs, segment, dz.rows(h * d_head, d_head), first,
                  std::min(query_block, segment.count - first), gradients);
      }
    }
  }
}

}  // namespace headscope
