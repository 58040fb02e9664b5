#include "compute/ops.hpp"

#include <algorithm>
#include <cmath>

#include "base/vector_math.hpp"
#include "compute/activation.hpp"
#include "compute/column_loop.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

HEADSCOPE_VECTORISED void add_column(const float* x, const float* y, Index n, float* sum) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) sum[i] = x[i] + y[i];
}

template <typename Functions, bool biased>
HEADSCOPE_VECTORISED void activate_column(const float* x, const float* bias, Index n, float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) y[i] = Functions::value(biased ? x[i] + bias[i] : x[i]);
}

template <typename Functions, bool biased>
HEADSCOPE_VECTORISED void activation_gradient_column(const float* x, const float* bias,
                                                     const float* dy, Index n, float* dx) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) dx[i] = dy[i] * Functions::slope(biased ? x[i] + bias[i] : x[i]);
}

}  // namespace

void add_bias_activate(blas::ConstView X, const Vector& bias, Activation activation, blas::View Y) {
  if (!bias.is_empty()) check_count("bias", X.n_row, bias.n_elem);
  check_count("rows of the activations", X.n_row, Y.n_row);
  check_count("columns of the activations", X.n_col, Y.n_col);
  const auto column = activations::with_functions(activation, [&](auto functions) {
    using Functions = decltype(functions);
    return bias.is_empty() ? activate_column<Functions, false> : activate_column<Functions, true>;
  });
  for_each_column(X.n_row, X.n_col,
                  [&](Index t) { column(X.column(t), bias.memptr(), X.n_row, Y.column(t)); });
}

void activation_gradient(blas::ConstView X, const Vector& bias, Activation activation,
                         blas::ConstView dY, blas::View dX) {
  const auto column = activations::with_functions(activation, [&](auto functions) {
    using Functions = decltype(functions);
    return bias.is_empty() ? activation_gradient_column<Functions, false>
                           : activation_gradient_column<Functions, true>;
  });
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < X.n_col; ++t) {
    column(X.column(t), bias.memptr(), dY.column(t), X.n_row, dX.column(t));
  }
}

void add_bias(blas::View X, const Vector& bias) {
  if (bias.is_empty()) return;
  check_count("bias", X.n_row, bias.n_elem);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    float* const x = X.column(t);
    add_column(x, bias.memptr(), X.n_row, x);
  });
}

void add(blas::ConstView X, blas::ConstView Y, blas::View sum) {
  check_count("rows to add", X.n_row, Y.n_row);
  check_count("columns to add", X.n_col, Y.n_col);
  check_count("rows of the sum", X.n_row, sum.n_row);
  check_count("columns of the sum", X.n_col, sum.n_col);
  for_each_column(X.n_row, X.n_col,
                  [&](Index t) { add_column(X.column(t), Y.column(t), X.n_row, sum.column(t)); });
}

HEADSCOPE_VECTORISED void add_scaled(const float* x, float factor, Index count, float* y) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) y[i] += factor * x[i];
}

void add_scaled(blas::ConstView X, float factor, blas::View Y) {
  for (Index t = 0; t < Y.n_col; ++t) {
    add_scaled(X.column(X.n_col == 1 ? 0 : t), factor, Y.n_row, Y.column(t));
  }
}

HEADSCOPE_VECTORISED double dot(const float* x, const float* y, Index count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

void copy(blas::ConstView X, blas::View Y) {
  check_count("rows to copy", X.n_row, Y.n_row);
  check_count("columns to copy", X.n_col, Y.n_col);
  for_each_column(X.n_row, X.n_col,
                  [&](Index t) { std::copy_n(X.column(t), X.n_row, Y.column(t)); });
}

HEADSCOPE_VECTORISED float maximum(const float* values, Index count) {
  float largest = -infinity;
#pragma omp simd reduction(max : largest)
  for (Index i = 0; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  // OpenMP's reductions may start from the lowest finite number.
  return largest == std::numeric_limits<float>::lowest() ? -infinity : largest;
}

HEADSCOPE_VECTORISED double exponentiate(float* values, Index count, float shift) {
  // Short float sums, added up in double: the speed of float with the accuracy of double.
  constexpr Index stretch = 256;
  double total = 0;
  for (Index first = 0; first < count; first += stretch) {
    const Index end = std::min(first + stretch, count);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = first; i < end; ++i) {
      const float e = vector_math::normal_exponential(values[i] - shift);
      values[i] = e;
      sum += e;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

HEADSCOPE_VECTORISED void scale(float* values, Index count, float factor) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) values[i] *= factor;
}

float softmax(float* scores, Index count) {
  const float largest = maximum(scores, count);
  // No score is a number above -infinity: no pattern follows from them.
  if (largest == -infinity) {
    std::fill_n(scores, count, std::numeric_limits<float>::quiet_NaN());
    return -infinity;
  }
  const double sum = exponentiate(scores, count, largest);
  scale(scores, count, static_cast<float>(1.0 / sum));
  return largest + static_cast<float>(std::log(sum));
}

}  // namespace headscope
