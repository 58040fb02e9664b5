#pragma once

#include <cassert>
#include <type_traits>

#include "headscope/types.hpp"

/// The few strided BLAS calls that heads need. A head is a block of rows of a larger matrix, so a
/// view with a column stride needs no copy.
namespace headscope::blas {

/// In builds with assertions, ends the program if a part of a view reaches beyond it.
inline void check_range([[maybe_unused]] Index first, [[maybe_unused]] Index count,
                        [[maybe_unused]] Index size) {
  assert(first <= size && count <= size - first);
}

/// Column-major view: element (r, c) is data[r + c * stride].
/// @tparam Number  float; const float in a view for reading.
template <typename Number>
struct BasicView {
  using Viewed = std::conditional_t<std::is_const_v<Number>, const Matrix, Matrix>;

  Number* data = nullptr;
  Index n_row = 0;
  Index n_col = 0;
  Index stride = 0;

  BasicView() = default;
  BasicView(Number* first, Index row_count, Index col_count, Index column_stride)
      : data(first), n_row(row_count), n_col(col_count), stride(column_stride) {}
  BasicView(Viewed& matrix)  // NOLINT(google-explicit-constructor): a matrix is a view of itself
      : data(matrix.memptr()), n_row(matrix.n_rows), n_col(matrix.n_cols), stride(matrix.n_rows) {}

  operator BasicView<const Number>() const { return {data, n_row, n_col, stride}; }
  Number* column(Index index) const { return data + index * stride; }
  BasicView rows(Index first, Index count) const {
    check_range(first, count, n_row);
    return {data + first, count, n_col, stride};
  }
  BasicView cols(Index first, Index count) const {
    check_range(first, count, n_col);
    return {data + first * stride, n_row, count, stride};
  }
};

using ConstView = BasicView<const float>;
using View = BasicView<float>;

enum class Transpose { no, yes };

/// C = alpha * op(A) * op(B) + beta * C on the calling thread alone.
/// @throws ShapeError giving the shapes.
void multiply_serial(ConstView A, Transpose transpose_A, ConstView B, Transpose transpose_B, View C,
                     float alpha = 1, float beta = 0);

/// The same, with the columns of C (or its rows, if there are more) split over the OpenMP threads.
/// OpenBLAS itself runs single-threaded, so that there is one thread pool.
void multiply(ConstView A, Transpose transpose_A, ConstView B, Transpose transpose_B, View C,
              float alpha = 1, float beta = 0);

/// Y = W * X.
inline void multiply(ConstView W, ConstView X, View Y) {
  multiply(W, Transpose::no, X, Transpose::no, Y);
}

/// Sets the number of OpenMP threads, at most OMP_THREAD_LIMIT; 0 means default_thread_count.
/// Limits OpenBLAS to one. @throws Error if the system does not start so many threads.
void set_thread_count(int count);
int thread_count();

/// `OpenBLAS 0.3.21 Zen`: version and the kernel chosen for this machine.
std::string library_description();

}  // namespace headscope::blas
