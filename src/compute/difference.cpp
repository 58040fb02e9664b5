#include "compute/difference.hpp"

#include <cstring>

#include "base/vector_math.hpp"
#include "compute/activation.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

template <typename Functions>
HEADSCOPE_VECTORISED void activation_difference_column(const float* x, const float* a, Index n,
                                                       float* d) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) d[i] = Functions::value(x[i] + d[i]) - a[i];
}

}  // namespace

void check_variants(blas::ConstView clean, blas::ConstView difference) {
  check_count("rows of the difference", clean.n_row, difference.n_row);
  check_count("columns beyond whole variants", 0, difference.n_col % clean.n_col);
}

void activation_difference(blas::ConstView X, blas::ConstView A, Activation activation,
                           blas::View D) {
  check_variants(X, D);
  check_variants(A, D);
  const auto column = activations::with_functions(
      activation, [](auto functions) { return activation_difference_column<decltype(functions)>; });
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    const Index t = c % X.n_col;
    column(X.column(t), A.column(t), X.n_row, D.column(c));
  }
}

void copy_columns(blas::ConstView X, std::span<const Index> columns, blas::View Y) {
  check_count("rows of chosen columns", X.n_row, Y.n_row);
  check_count("chosen columns", columns.size(), Y.n_col);
  for (Index i = 0; i < columns.size(); ++i) {
    std::memmove(Y.column(i), X.column(columns[i]), X.n_row * sizeof(float));
  }
}

void add_clean(blas::ConstView X, float sign, blas::View D) {
  check_variants(X, D);
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    add_scaled(X.column(c % X.n_col), sign, X.n_row, D.column(c));
  }
}

}  // namespace headscope
