#include "compute/bfloat16_weights.hpp"

#include <algorithm>

#include "compute/vector_math.hpp"

namespace headscope {
namespace {

HEADSCOPE_VECTORISED void add_column_sums(const float* sums, Index n, float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) y[i] += sums[i];
}

}  // namespace

Bfloat16Weights::Bfloat16Weights(Index n_in, Index n_out, bool split, bool emulated)
    : high_(n_in, n_out, most_low_precision_rows, emulated) {
  if (split) low_.emplace(n_in, n_out, most_low_precision_rows, emulated);
}

void Bfloat16Weights::pack(blas::ConstView W, bool transposed, Scratch& scratch) {
  const Index size = W.n_row * W.n_col;
  if (scratch.high.size() < size) scratch.high.resize(size);
  if (low_ && scratch.low.size() < size) scratch.low.resize(size);
  for (Index c = 0; c < W.n_col; ++c) {
    const float* const w = W.data + c * W.stride;
    Bfloat16* const high = scratch.high.data() + c * W.n_row;
    if (low_) {
      split_bfloat16(w, W.n_row, high, scratch.low.data() + c * W.n_row);
    } else {
      round_bfloat16(w, W.n_row, high);
    }
  }
  const WeightOrder order = transposed ? WeightOrder::by_output : WeightOrder::by_input;
  high_.pack(scratch.high.data(), order);
  if (low_) low_->pack(scratch.low.data(), order);
}

void Bfloat16Weights::multiply(const Bfloat16* high, const Bfloat16* low, Index n_row, bool add,
                               float* sums) const {
  // The small products first, so that little is rounded off.
  if (low_) {
    high_.multiply(low, n_row, add, sums);
    low_->multiply(high, n_row, true, sums);
  }
  high_.multiply(high, n_row, add || low_.has_value(), sums);
}

void write_sums(const float* sums, bool add, blas::View Y) {
  for (Index c = 0; c < Y.n_col; ++c) {
    float* const y = Y.data + c * Y.stride;
    if (add) {
      add_column_sums(sums + c * Y.n_row, Y.n_row, y);
    } else {
      std::copy_n(sums + c * Y.n_row, Y.n_row, y);
    }
  }
}

}  // namespace headscope
