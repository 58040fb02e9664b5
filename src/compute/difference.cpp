#include "compute/difference.hpp"

#include <algorithm>
#include <cstring>

#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
Index variants_per_step(Index n_token) {
  constexpr Index columns_together = 1024;
  return std::max<Index>(1, columns_together / std::max<Index>(1, n_token));
}

void check_variants(blas::ConstView clean, blas::ConstView difference) {
  check_count("rows of the difference", clean.n_row, difference.n_row);
  check_count("columns beyond whole variants", 0, difference.n_col % clean.n_col);
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
