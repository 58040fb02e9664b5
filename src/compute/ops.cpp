#include "compute/ops.hpp"

#include <cmath>

#include "base/vector_math.hpp"
#include "compute/activation.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Below this many elements, waking the threads takes longer than the work.
constexpr Index least_parallel_size = 1 << 16;

template <typename Operation>
void for_each_column(Index n_row, Index n_col, Operation&& operation) {
#pragma omp parallel for schedule(static) if (n_row * n_col >= least_parallel_size)
  for (Index t = 0; t < n_col; ++t) operation(t);
}

HEADSCOPE_VECTORISED void normalize_column(const float* x, const float* gain, const float* bias,
                                           Index n, double epsilon, float* y) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (Index i = 0; i < n; ++i) {
    const double centred = static_cast<double>(x[i]) - mean;
    squares += centred * centred;
  }
  const double inverse_deviation = 1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon);
  // The mean stays in double: a rounded mean would swamp the deviations of features far from zero.
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const double centred = static_cast<double>(x[i]) - mean;
    y[i] = static_cast<float>(centred * inverse_deviation) * gain[i] + bias[i];
  }
}

HEADSCOPE_VECTORISED void add_column(const float* x, const float* y, Index n, float* sum) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) sum[i] = x[i] + y[i];
}

template <typename Functions>
HEADSCOPE_VECTORISED void activate_column(const float* x, const float* bias, Index n, float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) y[i] = Functions::value(x[i] + bias[i]);
}

}  // namespace

void layer_norm(blas::ConstView X, const Vector& gain, const Vector& bias, double epsilon,
                blas::View Y) {
  check_count("layer norm gain", X.n_row, gain.n_elem);
  check_count("layer norm bias", X.n_row, bias.n_elem);
  check_count("layer norm output rows", X.n_row, Y.n_row);
  check_count("layer norm output columns", X.n_col, Y.n_col);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    normalize_column(X.data + t * X.stride, gain.memptr(), bias.memptr(), X.n_row, epsilon,
                     Y.data + t * Y.stride);
  });
}

void add_bias_activate(blas::ConstView X, const Vector& bias, Activation activation, blas::View Y) {
  check_count("bias", X.n_row, bias.n_elem);
  check_count("rows of the activations", X.n_row, Y.n_row);
  check_count("columns of the activations", X.n_col, Y.n_col);
  const auto column = activations::with_functions(
      activation, [](auto functions) { return activate_column<decltype(functions)>; });
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    column(X.data + t * X.stride, bias.memptr(), X.n_row, Y.data + t * Y.stride);
  });
}

void add_bias(blas::View X, const Vector& bias) {
  if (bias.is_empty()) return;
  check_count("bias", X.n_row, bias.n_elem);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    float* const x = X.data + t * X.stride;
    add_column(x, bias.memptr(), X.n_row, x);
  });
}

void add(blas::ConstView X, blas::ConstView Y, blas::View sum) {
  check_count("rows to add", X.n_row, Y.n_row);
  check_count("columns to add", X.n_col, Y.n_col);
  check_count("rows of the sum", X.n_row, sum.n_row);
  check_count("columns of the sum", X.n_col, sum.n_col);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    add_column(X.data + t * X.stride, Y.data + t * Y.stride, X.n_row, sum.data + t * sum.stride);
  });
}

void copy(blas::ConstView X, blas::View Y) {
  check_count("rows to copy", X.n_row, Y.n_row);
  check_count("columns to copy", X.n_col, Y.n_col);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    std::copy_n(X.data + t * X.stride, X.n_row, Y.data + t * Y.stride);
  });
}

}  // namespace headscope
