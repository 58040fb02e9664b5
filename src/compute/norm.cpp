#include "compute/norm.hpp"

#include <cmath>
#include <numeric>

#include "base/vector_math.hpp"
#include "compute/column_loop.hpp"
#include "compute/difference.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

template <bool centred>
HEADSCOPE_VECTORISED float standardize_column(const float* x, Index n, double epsilon, float* y) {
  // The mean stays in double: a rounded mean would swamp the deviations of features far from zero.
  double sum = 0, squares = 0;
  if constexpr (centred) {
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  }
  const double mean = sum / static_cast<double>(n);
#pragma omp simd reduction(+ : squares)
  for (Index i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]) - mean;
    squares += value * value;
  }
  const double inverse_scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon);
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * inverse_scale);
  }
  return static_cast<float>(inverse_scale);
}

template <bool centred>
HEADSCOPE_VECTORISED void scale_column(const float* gain, const float* bias, Index n, float* y) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) y[i] = centred ? y[i] * gain[i] + bias[i] : y[i] * gain[i];
}

template <bool centred>
HEADSCOPE_VECTORISED void difference_column(const float* x, const float* d, const float* gain,
                                            Index n, double epsilon, float* y) {
  const auto count = static_cast<double>(n);
  double mean_x = 0, mean_d = 0;
  if constexpr (centred) {
    double sum_x = 0, sum_d = 0;
#pragma omp simd reduction(+ : sum_x, sum_d)
    for (Index i = 0; i < n; ++i) {
      sum_x += static_cast<double>(x[i]);
      sum_d += static_cast<double>(d[i]);
    }
    mean_x = sum_x / count;
    mean_d = sum_d / count;
  }
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

template <bool centred>
HEADSCOPE_VECTORISED void gradient_column(const float* x, const float* gain, const float* dy,
                                          Index n, double epsilon, float* dx) {
  const auto count = static_cast<double>(n);
  double mean = 0;
  if constexpr (centred) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
    mean = sum / count;
  }
  double squares = 0, v_sum = 0, v_x_sum = 0;
#pragma omp simd reduction(+ : squares, v_sum, v_x_sum)
  for (Index i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]) - mean;
    const double v = static_cast<double>(gain[i]) * static_cast<double>(dy[i]);
    squares += value * value;
    v_sum += v;
    v_x_sum += v * value;
  }
  const double inverse_scale = 1.0 / std::sqrt(squares / count + epsilon);
  const double v_mean = centred ? v_sum / count : 0;
  const double v_x_mean = v_x_sum * inverse_scale * inverse_scale / count;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[i]) - mean;
    const double v = static_cast<double>(gain[i]) * static_cast<double>(dy[i]);
    dx[i] += static_cast<float>((v - v_mean - value * v_x_mean) * inverse_scale);
  }
}

template <bool centred>
HEADSCOPE_VECTORISED void unit_scale_gradient_column(const float* gain, const float* dy, Index n,
                                                     float* dx) {
  double sum = 0;
  if constexpr (centred) {
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(gain[i]) * static_cast<double>(dy[i]);
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(n));
#pragma omp simd
  for (Index i = 0; i < n; ++i) dx[i] = gain[i] * dy[i] - mean;
}

}  // namespace

void Norm::apply(blas::ConstView X, blas::View Y) const {
  check_count("norm gain", X.n_row, gain_->n_elem);
  if (centred_) check_count("norm bias", X.n_row, bias_->n_elem);
  check_count("norm output rows", X.n_row, Y.n_row);
  check_count("norm output columns", X.n_col, Y.n_col);
  const auto standardize = centred_ ? standardize_column<true> : standardize_column<false>;
  const auto scale = centred_ ? scale_column<true> : scale_column<false>;
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    standardize(X.column(t), X.n_row, epsilon_, Y.column(t));
    scale(gain_->memptr(), bias_->memptr(), X.n_row, Y.column(t));
  });
}

void Norm::difference(blas::ConstView X, blas::ConstView D, blas::View Y) const {
  check_variants(X, D);
  check_variants(X, Y);
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) {
    difference_of_column(X.column(c % X.n_col), D.column(c), Y.column(c));
  }
}

void Norm::difference_of_column(const float* x, const float* d, float* y) const {
  const auto difference = centred_ ? difference_column<true> : difference_column<false>;
  difference(x, d, gain_->memptr(), gain_->n_elem, epsilon_, y);
}

void Norm::gradient(blas::ConstView X, blas::ConstView dY, blas::View dX) const {
  const auto gradient = centred_ ? gradient_column<true> : gradient_column<false>;
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < X.n_col; ++t) {
    gradient(X.column(t), gain_->memptr(), dY.column(t), X.n_row, epsilon_, dX.column(t));
  }
}

std::vector<float> Norm::standardize(blas::ConstView X, blas::View Y) const {
  const auto standardize = centred_ ? standardize_column<true> : standardize_column<false>;
  std::vector<float> inverse_scales(X.n_col);
  for_each_column(X.n_row, X.n_col, [&](Index t) {
    inverse_scales[t] = standardize(X.column(t), X.n_row, epsilon_, Y.column(t));
  });
  return inverse_scales;
}

void Norm::gradient_at_unit_scale(blas::ConstView dY, blas::View dX) const {
  const auto gradient =
      centred_ ? unit_scale_gradient_column<true> : unit_scale_gradient_column<false>;
  for (Index t = 0; t < dY.n_col; ++t) {
    gradient(gain_->memptr(), dY.column(t), dY.n_row, dX.column(t));
  }
}

std::vector<double> Norm::scales(blas::ConstView X) const {
  std::vector<double> scales(X.n_col);
  const auto n = static_cast<double>(X.n_row);
  for (Index t = 0; t < X.n_col; ++t) {
    const float *const first = X.column(t), *const last = first + X.n_row;
    const double mean = centred_ ? std::accumulate(first, last, 0.0) / n : 0;
    const double squares = std::accumulate(first, last, 0.0, [mean](double sum, double value) {
      return sum + (value - mean) * (value - mean);
    });
    scales[t] = std::sqrt(squares / n + epsilon_);
  }
  return scales;
}

arma::vec Norm::direction(const arma::vec& u) const {
  const arma::vec direction = u % arma::conv_to<arma::vec>::from(*gain_);
  return centred_ ? arma::vec(direction - arma::mean(direction)) : direction;
}

double Norm::constant(const arma::vec& u) const {
  return centred_ ? arma::dot(u, arma::conv_to<arma::vec>::from(*bias_)) : 0;
}

}  // namespace headscope
