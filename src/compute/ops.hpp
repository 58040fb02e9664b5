#pragma once

#include <limits>

#include "headscope/blas.hpp"
#include "headscope/config.hpp"
#include "headscope/types.hpp"

/// Element-wise and per-token operations, vectorised for the machine at run time and threaded over
/// tokens.
namespace headscope {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// Y[:, t] = activation(X[:, t] + bias); Y may be X. An empty bias adds nothing.
/// @throws ShapeError
void add_bias_activate(blas::ConstView X, const Vector& bias, Activation activation, blas::View Y);

/// dX = dY activation'(X + bias), where Y = activation(X + bias).
/// @param X, dY, dX  d_mlp x n; dX may be dY or X.
void activation_gradient(blas::ConstView X, const Vector& bias, Activation activation,
                         blas::ConstView dY, blas::View dX);

/// X[:, t] += bias, in place. An empty bias adds nothing.
void add_bias(blas::View X, const Vector& bias);

/// sum = X + Y, element by element; `sum` may be X or Y.
/// @throws ShapeError
void add(blas::ConstView X, blas::ConstView Y, blas::View sum);

/// y[i] += factor x[i], on the calling thread.
void add_scaled(const float* x, float factor, Index count, float* y);
/// Y += factor X, on the calling thread. @param X  one column for all if it has only one.
void add_scaled(blas::ConstView X, float factor, blas::View Y);

/// x . y, summed in double on the calling thread.
double dot(const float* x, const float* y, Index count);

/// Y = X. @throws ShapeError
void copy(blas::ConstView X, blas::View Y);

/// The largest of `count` values; -infinity when there are none. NaN is ignored.
float maximum(const float* values, Index count);

/// values = exp(values - shift), in place; 0 where that is below e^-87.
/// @param shift  the largest of the values, or more; at most 88 less.
/// @return their sum, relative error below 1e-6.
double exponentiate(float* values, Index count, float shift);

/// values *= factor, in place.
void scale(float* values, Index count, float factor);

/// Turns `count` scores into probabilities, in place: exp(x - max) / sum.
///
/// Relative error below 5e-7 + 6e-8 |x - max|, the second part being the rounding of the
/// difference. Scores more than 87 below the largest get probability 0; when all are -infinity or
/// one is NaN, every probability is NaN.
/// @return log(sum exp(x))
float softmax(float* scores, Index count);

}  // namespace headscope
