#include "compute/streamed_product.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "compute/bfloat16_weights.hpp"
#include "compute/buffer.hpp"

namespace headscope {
namespace {

// Fewer columns do not repay the packing of the weights.
constexpr Index least_split_columns = 128;
// Both parts of so many weights (1.2 MB) stay in a core's cache while the columns go by.
constexpr Index most_inputs = 768, most_outputs = 384, part_multiple = 64;

Engine engine_for(Engine engine, Index n_column) {
  return n_column < least_split_columns ? Engine::float32 : engine;
}

// The size of each but the last of nearly equal parts of at most `most`, as many for each thread.
Index part_size(Index count, Index most, Index n_thread = 1) {
  const auto quotient = [](Index a, Index b) { return (a + b - 1) / b; };
  const Index n_part = quotient(quotient(count, most), n_thread) * n_thread;
  return std::min(most, quotient(quotient(count, n_part), part_multiple) * part_multiple);
}

// A thread's packed weights, by shape.
Bfloat16Weights& weights_of_thread(Index n_in, Index n_out) {
  thread_local std::map<std::array<Index, 2>, Bfloat16Weights> weights;
  return weights.try_emplace({n_in, n_out}, n_in, n_out, true, false).first->second;
}

}  // namespace

StreamedColumns::StreamedColumns(blas::ConstView X, Engine engine)
    : X_(X, engine_for(engine, X.n_col)) {}

void StreamedColumns::multiply(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                               bool add) const {
  if (!is_split()) {
    blas::multiply(W, transpose, X_.X_, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_.X_, Y);
  const Index at_once = part_size(Y.n_row, most_outputs, static_cast<Index>(blas::thread_count()));
#pragma omp parallel for schedule(dynamic)
  for (Index first = 0; first < Y.n_row; first += at_once) {
    multiply_outputs(W, transpose, first, std::min(at_once, Y.n_row - first), Y, add);
  }
}

void StreamedColumns::multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                                      bool add) const {
  if (!is_split()) {
    blas::multiply_serial(W, transpose, X_.X_, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X_.X_, Y);
  const Index at_once = part_size(Y.n_row, most_outputs);
  for (Index first = 0; first < Y.n_row; first += at_once) {
    multiply_outputs(W, transpose, first, std::min(at_once, Y.n_row - first), Y, add);
  }
}

void StreamedColumns::multiply_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                                       Index count, blas::View Y, bool add) const {
  thread_local Bfloat16Weights::Scratch scratch;
  thread_local Buffer buffer;
  Matrix sums = buffer.matrix(count, most_low_precision_rows);
  const Index n_in = X_.X_.n_row;
  const bool transposed = transpose == blas::Transpose::yes;
  Bfloat16Weights& weights = weights_of_thread(n_in, count);
  weights.pack(transposed ? W.cols(first, count) : W.rows(first, count), transposed, scratch);
  for (Index c = 0; c < Y.n_col; c += most_low_precision_rows) {
    const Index n_column = std::min(most_low_precision_rows, Y.n_col - c);
    weights.multiply(X_.bfloat16_high_.data() + c * n_in, X_.bfloat16_low_.data() + c * n_in,
                     n_column, false, sums.memptr());
    write_sums(sums.memptr(), add, Y.rows(first, count).cols(c, n_column));
  }
}

std::uint64_t StreamedColumns::bytes(Index n_row, Index n_col, int n_thread, Engine engine) {
  if (engine == Engine::float32) return 0;
  // The shapes of the parts that the weights of a model's layers and vocabulary are cut into.
  constexpr std::uint64_t n_shape = 6;
  const std::uint64_t weights = WeightProduct::bytes(most_inputs * most_outputs, engine);
  const std::uint64_t of_thread = (n_shape + 1) * weights +
                                  most_outputs * most_low_precision_rows * sizeof(float) +
                                  SplitColumns::bytes(n_row, n_col, engine);
  return SplitColumns::bytes(n_row, n_col, engine) +
         static_cast<std::uint64_t>(n_thread) * of_thread;
}

void multiply_streamed(Engine engine, blas::ConstView W, blas::Transpose transpose,
                       blas::ConstView X, blas::View Y, bool add) {
  if (engine_for(engine, X.n_col) == Engine::float32) {
    blas::multiply(W, transpose, X, blas::Transpose::no, Y, 1, add ? 1 : 0);
    return;
  }
  check_product(W, transpose, X, Y);
  const bool transposed = transpose == blas::Transpose::yes;
  const Index at_once = part_size(X.n_row, most_inputs);
  for (Index first = 0; first < X.n_row; first += at_once) {
    const Index count = std::min(at_once, X.n_row - first);
    StreamedColumns(X.rows(first, count), engine)
        .multiply(transposed ? W.rows(first, count) : W.cols(first, count), transpose, Y,
                  add || first > 0);
  }
}

}  // namespace headscope
