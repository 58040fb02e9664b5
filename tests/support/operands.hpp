#pragma once

#include <algorithm>

#include "compute/product/arithmetic.hpp"

namespace headscope::test {

/// All columns of a matrix, packed.
inline Operand columns_of(const Matrix& X, const Arithmetic& arithmetic) {
  Operand packed;
  arithmetic.set_size(X.n_rows, X.n_cols, packed);
  for (Index c = 0; c < X.n_cols; ++c) arithmetic.pack_column(X.colptr(c), 1, c, packed);
  return packed;
}

/// All outputs of weights, packed.
inline Operand outputs_of(const Matrix& W, blas::Transpose transpose,
                          const Arithmetic& arithmetic) {
  const blas::ConstView view = W;
  const bool transposed = transpose == blas::Transpose::yes;
  const Index n_in = transposed ? W.n_rows : W.n_cols, n_out = transposed ? W.n_cols : W.n_rows;
  Operand packed;
  arithmetic.set_size(n_in, n_out, packed);
  for (Index o = 0; o < n_out; o += Arithmetic::block) {
    const Index count = std::min(Arithmetic::block, n_out - o);
    arithmetic.pack_outputs(transposed ? view.cols(o, count) : view.rows(o, count), transpose, o,
                            packed);
  }
  return packed;
}

}  // namespace headscope::test
