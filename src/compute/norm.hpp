#pragma once

#include <vector>

#include "headscope/blas.hpp"
#include "headscope/config.hpp"

namespace headscope {

/// The norm of one place in a model, with that place's weights:
///
///   layer_norm   y = (x - mean(x)) / scale gain + bias,   scale = sqrt(variance(x) + epsilon)
///   rms_norm     y = x / scale gain,                      scale = sqrt(mean(x^2) + epsilon)
///
/// for each column of d_model x n_token. Cheap to make: it refers to the weights, which must
/// outlive it. Sources: Ba et al. 2016, "Layer Normalization"; Zhang and Sennrich 2019, "Root Mean
/// Square Layer Normalization".
class Norm {
 public:
  /// @param bias  not read by rms_norm.
  Norm(const ModelConfig& config, const Vector& gain, const Vector& bias)
      : centred_(config.norm == NormKind::layer_norm),
        epsilon_(config.layer_norm_epsilon),
        gain_(&gain),
        bias_(&bias) {}

  /// Y = norm(X); Y may be X.
  /// @throws ShapeError if the shapes do not fit; gives both.
  void apply(blas::ConstView X, blas::View Y) const;

  /// Y = norm(X + D) - norm(X), without cancellation; Y may be D. Several variants of a document
  /// lie side by side in D: its column c belongs to column c % n_token of X.
  /// @param X     d_model x n_token, clean.
  /// @param D, Y  d_model x (n_token n_variant).
  /// @throws ShapeError likewise.
  void difference(blas::ConstView X, blas::ConstView D, blas::View Y) const;
  /// The same for one column, on the calling thread. @param x, d, y  d_model values.
  void difference_of_column(const float* x, const float* d, float* y) const;

  /// Backpropagates dY, the gradient of norm(X), adding to dX:
  ///
  ///   dX += (v - mean(v) - x mean(v x)) / scale,   v = gain dY,   x = X normalized, without gain
  ///   and bias
  ///
  /// where rms_norm leaves out mean(v). @param X, dY, dX  d_model x n.
  void gradient(blas::ConstView X, blas::ConstView dY, blas::View dX) const;

  /// Y = X normalized, without gain and bias; Y may be X. @return 1 / scale of each column.
  std::vector<float> standardize(blas::ConstView X, blas::View Y) const;
  /// dX = v - mean(v), v = gain dY: the gradient with the scale held fixed at 1; rms_norm leaves
  /// out mean(v). dX may be dY.
  void gradient_at_unit_scale(blas::ConstView dY, blas::View dX) const;

  /// The scale of each column.
  std::vector<double> scales(blas::ConstView X) const;
  /// With scales held fixed, u . norm(x) = direction . x / scale + u . bias. @return direction.
  arma::vec direction(const arma::vec& u) const;
  /// u . bias; 0 for rms_norm.
  double constant(const arma::vec& u) const;

 private:
  bool centred_;
  double epsilon_;
  const Vector* gain_;
  const Vector* bias_;
};

}  // namespace headscope
