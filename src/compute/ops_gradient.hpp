#pragma once

#include "compute/ops.hpp"

namespace headscope {

/// Backpropagates dY, the gradient of layer_norm(X), adding to dX:
///
///   dX[:, t] += (v - mean(v) - x mean(v x)) / deviation,   v = gain dY, x = X normalised, without
///   gain and bias
///
/// @param X, dY, dX  d_model x n.
void add_layer_norm_gradient(blas::ConstView X, const Vector& gain, double epsilon,
                             blas::ConstView dY, blas::View dX);

/// dX = dY activation'(X + bias), where Y = activation(X + bias).
/// @param X, dY, dX  d_mlp x n; dX may be dY or X.
void activation_gradient(blas::ConstView X, const Vector& bias, Activation activation,
                         blas::ConstView dY, blas::View dX);

}  // namespace headscope
