#include "compute/difference.hpp"

#include <cmath>
#include <cstring>

#include "base/vector_math.hpp"
#include "compute/activation.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

HEADSCOPE_VECTORISED void layer_norm_difference_column(const float* x, const float* d,
                                                       const float* gain, Index n, double epsilon,
                                                       float* y) {
  const auto count = static_cast<double>(n);
  double sum_x = 0, sum_d = 0;
#pragma omp simd reduction(+ : sum_x, sum_d)
  for (Index i = 0; i < n; ++i) {
    sum_x += static_cast<double>(x[i]);
    sum_d += static_cast<double>(d[i]);
  }
  const double mean_x = sum_x / count, mean_d = sum_d / count;
  double square = 0, change = 0;
#pragma omp simd reduction(+ : square, change)
  for (Index i = 0; i < n; ++i) {
    const double cx = static_cast<double>(x[i]) - mean_x, cd = static_cast<double>(d[i]) - mean_d;
    square += cx * cx;
    change += (cx + cx + cd) * cd;
  }
  const double before = 1 / std::sqrt(square / count + epsilon);
  const double after = 1 / std::sqrt((square + change) / count + epsilon);
  const double gained = -change / count * before * before * after * after / (before + after);
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const double cx = static_cast<double>(x[i]) - mean_x, cd = static_cast<double>(d[i]) - mean_d;
    y[i] = static_cast<float>(cd * after + cx * gained) * gain[i];
  }
}

template <typename Functions>
HEADSCOPE_VECTORISED void activation_difference_column(const float* x, const float* a, Index n,
                                                       float* d) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) d[i] = Functions::value(x[i] + d[i]) - a[i];
}

HEADSCOPE_VECTORISED void add_signed(const float* x, float factor, Index n, float* d) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) d[i] += factor * x[i];
}

void check_fits(blas::ConstView clean, blas::ConstView difference) {
  check_count("rows of the difference", clean.n_row, difference.n_row);
  check_count("columns beyond whole variants", 0, difference.n_col % clean.n_col);
}

}  // namespace

void layer_norm_difference(blas::ConstView X, blas::ConstView D, const Vector& gain, double epsilon,
                           blas::View Y) {
  check_fits(X, D);
  check_fits(X, Y);
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    layer_norm_difference_column(X.data + c % X.n_col * X.stride, D.data + c * D.stride,
                                 gain.memptr(), X.n_row, epsilon, Y.data + c * Y.stride);
  }
}

void activation_difference(blas::ConstView X, blas::ConstView A, Activation activation,
                           blas::View D) {
  check_fits(X, D);
  check_fits(A, D);
  const auto column = activations::with_functions(
      activation, [](auto functions) { return activation_difference_column<decltype(functions)>; });
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    const Index t = c % X.n_col;
    column(X.data + t * X.stride, A.data + t * A.stride, X.n_row, D.data + c * D.stride);
  }
}

void copy_columns(blas::ConstView X, std::span<const Index> columns, blas::View Y) {
  check_count("rows of chosen columns", X.n_row, Y.n_row);
  check_count("chosen columns", columns.size(), Y.n_col);
  for (Index i = 0; i < columns.size(); ++i) {
    std::memmove(Y.data + i * Y.stride, X.data + columns[i] * X.stride, X.n_row * sizeof(float));
  }
}

void add_clean(blas::ConstView X, float sign, blas::View D) {
  check_fits(X, D);
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    add_signed(X.data + c % X.n_col * X.stride, sign, X.n_row, D.data + c * D.stride);
  }
}

}  // namespace headscope
