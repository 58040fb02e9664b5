#include "compute/streamed_product.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "compute/bfloat16_weights.hpp"
#include "compute/buffer.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Fewer columns do not repay the packing of the weights.
constexpr Index least_split_columns = 128;
// Both parts of so many weights (1.2 MB) stay in a core's cache while the columns go by.
constexpr Index most_inputs = 768, most_outputs = 384, output_multiple = 64;

Index parts_of(Index count, Index most) {
  return (count + most - 1) / most;
}

// Rows of one of the nearly equal parts of at most `most_inputs` that inputs are cut into.
Index inputs_of_part(Index n_in) {
  const Index n_part = parts_of(n_in, most_inputs);
  return parts_of(parts_of(n_in, n_part), output_multiple) * output_multiple;
}

// Outputs that a thread takes at a time, the same for all threads as far as it goes.
Index outputs_at_once(Index n_out) {
  const auto n_thread = static_cast<Index>(blas::thread_count());
  const Index n_part = parts_of(parts_of(n_out, most_outputs), n_thread) * n_thread;
  return std::min(most_outputs,
                  parts_of(parts_of(n_out, n_part), output_multiple) * output_multiple);
}

// A thread's packed weights, by shape.
Bfloat16Weights& weights_of_thread(Index n_in, Index n_out) {
  thread_local std::map<std::array<Index, 2>, Bfloat16Weights> weights;
  return weights.try_emplace({n_in, n_out}, n_in, n_out, true, false).first->second;
}

}  // namespace

StreamedColumns::StreamedColumns(blas::ConstView X, Engine engine) : X_(X) {
  if (engine == Engine::float32 || X.n_col < least_split_columns) return;
  const Index at_once = std::min(X.n_row, inputs_of_part(X.n_row));
  for (Index first = 0; first < X.n_row; first += at_once) {
    parts_.emplace_back(X.rows(first, std::min(at_once, X.n_row - first)), Engine::bfloat16_three);
  }
}

void StreamedColumns::multiply(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                               bool add) const {
  if (parts_.empty()) {
    blas::multiply(W, transpose, X_, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_, Y);
  const bool transposed = transpose == blas::Transpose::yes;
  const Index at_once = outputs_at_once(Y.n_row);
#pragma omp parallel for schedule(dynamic)
  for (Index first = 0; first < Y.n_row; first += at_once) {
    const Index count = std::min(at_once, Y.n_row - first);
    multiply_outputs(transposed ? W.cols(first, count) : W.rows(first, count), transposed,
                     Y.rows(first, count), add);
  }
}

void StreamedColumns::multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                                      bool add) const {
  if (parts_.empty()) {
    blas::multiply_serial(W, transpose, X_, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_, Y);
  const bool transposed = transpose == blas::Transpose::yes;
  for (Index first = 0; first < Y.n_row; first += most_outputs) {
    const Index count = std::min(most_outputs, Y.n_row - first);
    multiply_outputs(transposed ? W.cols(first, count) : W.rows(first, count), transposed,
                     Y.rows(first, count), add);
  }
}

void StreamedColumns::multiply_outputs(blas::ConstView W, bool transposed, blas::View Y,
                                       bool add) const {
  thread_local Bfloat16Weights::Scratch scratch;
  thread_local Buffer sums;
  float* const block = sums.matrix(Y.n_row, most_low_precision_rows).memptr();
  Index row = 0;
  for (const SplitColumns& part : parts_) {
    const Index n_in = part.X_.n_row;
    Bfloat16Weights& weights = weights_of_thread(n_in, Y.n_row);
    weights.pack(transposed ? W.rows(row, n_in) : W.cols(row, n_in), transposed, scratch);
    for (Index c = 0; c < Y.n_col; c += most_low_precision_rows) {
      const Index count = std::min(most_low_precision_rows, Y.n_col - c);
      weights.multiply(part.bfloat16_high_.data() + c * n_in, part.bfloat16_low_.data() + c * n_in,
                       count, false, block);
      write_sums(block, add || row > 0, Y.cols(c, count));
    }
    row += n_in;
  }
}

std::uint64_t StreamedColumns::bytes(Index n_row, Index n_col, int n_thread, Engine engine) {
  if (engine == Engine::float32) return 0;
  // The shapes of weights that a model's layers and vocabulary are cut into.
  constexpr std::uint64_t n_shape = 8;
  const std::uint64_t weights = WeightProduct::bytes(most_inputs * most_outputs, engine);
  const std::uint64_t of_thread = (n_shape + 1) * weights +
                                  most_outputs * most_low_precision_rows * sizeof(float) +
                                  SplitColumns::bytes(most_inputs, n_col, engine);
  return SplitColumns::bytes(n_row, n_col, engine) +
         static_cast<std::uint64_t>(n_thread) * of_thread;
}

void multiply_streamed(Engine engine, blas::ConstView W, blas::Transpose transpose,
                       blas::ConstView X, blas::View Y, bool add) {
  StreamedColumns(X, engine).multiply(W, transpose, Y, add);
}

}  // namespace headscope
