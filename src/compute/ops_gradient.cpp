#include "compute/ops_gradient.hpp"

#include <cmath>

#include "base/vector_math.hpp"
#include "compute/activation.hpp"

namespace headscope {
namespace {

HEADSCOPE_VECTORISED void layer_norm_gradient_column(const float* x, const float* gain,
                                                     const float* dy, Index n, double epsilon,
                                                     float* dx) {
  const auto count = static_cast<double>(n);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / count;
  double squares = 0, v_sum = 0, v_x_sum = 0;
#pragma omp simd reduction(+ : squares, v_sum, v_x_sum)
  for (Index i = 0; i < n; ++i) {
    const double centred = static_cast<double>(x[i]) - mean;
    const double v = static_cast<double>(gain[i]) * static_cast<double>(dy[i]);
    squares += centred * centred;
    v_sum += v;
    v_x_sum += v * centred;
  }
  const double inverse_deviation = 1.0 / std::sqrt(squares / count + epsilon);
  const double v_mean = v_sum / count;
  const double v_x_mean = v_x_sum * inverse_deviation * inverse_deviation / count;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const double centred = static_cast<double>(x[i]) - mean;
    const double v = static_cast<double>(gain[i]) * static_cast<double>(dy[i]);
    dx[i] += static_cast<float>((v - v_mean - centred * v_x_mean) * inverse_deviation);
  }
}

template <typename Functions>
HEADSCOPE_VECTORISED void activation_gradient_column(const float* x, const float* bias,
                                                     const float* dy, Index n, float* dx) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) dx[i] = dy[i] * Functions::slope(x[i] + bias[i]);
}

}  // namespace

void add_layer_norm_gradient(blas::ConstView X, const Vector& gain, double epsilon,
                             blas::ConstView dY, blas::View dX) {
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < X.n_col; ++t) {
    layer_norm_gradient_column(X.data + t * X.stride, gain.memptr(), dY.data + t * dY.stride,
                               X.n_row, epsilon, dX.data + t * dX.stride);
  }
}

void activation_gradient(blas::ConstView X, const Vector& bias, Activation activation,
                         blas::ConstView dY, blas::View dX) {
  const auto column = activations::with_functions(
      activation, [](auto functions) { return activation_gradient_column<decltype(functions)>; });
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < X.n_col; ++t) {
    column(X.data + t * X.stride, bias.memptr(), dY.data + t * dY.stride, X.n_row,
           dX.data + t * dX.stride);
  }
}

}  // namespace headscope
