#include "compute/mlp.hpp"

#include "base/vector_math.hpp"
#include "compute/activation.hpp"
#include "compute/column_loop.hpp"
#include "compute/difference.hpp"
#include "compute/ops.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using blas::Transpose;

// A gated MLP's hidden units: of each column the gate, and the up part n rows below it.
template <typename Functions>
HEADSCOPE_VECTORISED void gate_column(const float* gate, const float* bias, Index n,
                                      float* hidden) {
  const float* const up = gate + n;
  if (bias == nullptr) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) hidden[i] = Functions::value(gate[i]) * up[i];
  } else {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      hidden[i] = Functions::value(gate[i] + bias[i]) * (up[i] + bias[n + i]);
    }
  }
}

// d = the gradient of gate and up, from that of the hidden units in its first n rows.
template <typename Functions>
HEADSCOPE_VECTORISED void gate_gradient_column(const float* gate, const float* bias, Index n,
                                               float* d) {
  const float* const up = gate + n;
  float* const d_up = d + n;
  if (bias == nullptr) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      d_up[i] = d[i] * Functions::value(gate[i]);
      d[i] = d[i] * up[i] * Functions::slope(gate[i]);
    }
  } else {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      const float g = gate[i] + bias[i];
      d_up[i] = d[i] * Functions::value(g);
      d[i] = d[i] * (up[i] + bias[n + i]) * Functions::slope(g);
    }
  }
}

// d = activation(gate + d_gate) (up + d_up) - activated up, where d holds d_gate, and d_up n rows
// below it. Without the cancellation of the products.
template <typename Functions>
HEADSCOPE_VECTORISED void gate_difference_column(const float* gate, const float* activated, Index n,
                                                 float* d) {
  const float* const up = gate + n;
  const float* const d_up = d + n;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const float change = Functions::value(gate[i] + d[i]) - activated[i];
    d[i] = change * (up[i] + d_up[i]) + activated[i] * d_up[i];
  }
}

}  // namespace

void Mlp::project(blas::ConstView x, blas::View pre, const Products& products) const {
  products.multiply(weights_->W_in, Transpose::no, x, pre);
}

void Mlp::activate(blas::ConstView pre, blas::View hidden) const {
  const Vector& bias = weights_->b_in;
  if (!config_->gated_mlp) {
    add_bias_activate(pre, bias, config_->activation, hidden);
    return;
  }
  const auto column = activations::with_functions(
      config_->activation, [](auto functions) { return gate_column<decltype(functions)>; });
  for_each_column(pre.n_row, pre.n_col, [&](Index t) {
    column(pre.column(t), bias.is_empty() ? nullptr : bias.memptr(), hidden.n_row,
           hidden.column(t));
  });
}

void Mlp::apply(blas::ConstView x, blas::View pre, blas::View hidden, blas::View stream,
                const Products& products) const {
  project(x, pre, products);
  activate(pre, hidden);
  add_bias(stream, weights_->b_out);
  products.multiply(weights_->W_out, Transpose::no, hidden, stream, true);
}

void Mlp::write(blas::ConstView x, blas::View pre, blas::View hidden, blas::View output,
                const Products& products) const {
  project(x, pre, products);
  activate(pre, hidden);
  products.multiply(weights_->W_out, Transpose::no, hidden, output);
}

void Mlp::gradient(blas::ConstView pre, blas::ConstView doutput, blas::View dpre, blas::View dx,
                   const Products& products) const {
  const Vector& bias = weights_->b_in;
  const Index d_mlp = config_->d_mlp;
  const blas::View dhidden = dpre.rows(0, d_mlp);
  products.multiply(weights_->W_out, Transpose::yes, doutput, dhidden);
  if (config_->gated_mlp) {
    const auto column = activations::with_functions(config_->activation, [](auto functions) {
      return gate_gradient_column<decltype(functions)>;
    });
#pragma omp parallel for schedule(static)
    for (Index t = 0; t < pre.n_col; ++t) {
      column(pre.column(t), bias.is_empty() ? nullptr : bias.memptr(), d_mlp, dpre.column(t));
    }
  } else {
    activation_gradient(pre, bias, config_->activation, dhidden, dhidden);
  }
  products.multiply(weights_->W_in, Transpose::yes, dpre, dx);
}

void MlpDifference::set(const Norm& norm, const Mlp& mlp, blas::ConstView clean,
                        const DifferenceProducts& products) {
  const ModelConfig& config = *mlp.config_;
  const LayerWeights& weights = mlp.weights();
  norm_ = norm;
  mlp_ = mlp;
  clean_ = clean;
  W_in_.set(weights.W_in, Transpose::no, products.differences);
  W_out_.set(weights.W_out, Transpose::no, products.differences);
  Matrix normalized = clean_normalized_.matrix(config.d_model, clean.n_col);
  Matrix pre = clean_pre_.matrix(config.d_in(), clean.n_col);
  Matrix activated = clean_activated_.matrix(config.d_mlp, clean.n_col);
  norm.apply(clean, normalized);
  mlp.project(normalized, pre, products.passes);
  add_bias(pre, weights.b_in);
  add_bias_activate(blas::View(pre).rows(0, config.d_mlp), {}, config.activation, activated);
}

void MlpDifference::compute(blas::ConstView D, blas::View output, bool add) {
  const ModelConfig& config = *mlp_->config_;
  const Index n_clean = clean_.n_col, d_mlp = config.d_mlp;
  Matrix normalized = normalized_.matrix(config.d_model, D.n_col);
  Matrix changed = hidden_.matrix(config.d_in(), D.n_col);
  const Matrix pre = clean_pre_.matrix(config.d_in(), n_clean);
  const Matrix activated = clean_activated_.matrix(d_mlp, n_clean);
  norm_->difference(clean_, D, normalized);
  W_in_.multiply(normalized, changed);
  if (config.gated_mlp) {
    check_variants(activated, blas::View(changed).rows(0, d_mlp));
    const auto column = activations::with_functions(config.activation, [](auto functions) {
      return gate_difference_column<decltype(functions)>;
    });
#pragma omp parallel for schedule(static)
    for (Index c = 0; c < D.n_col; ++c) {
      column(pre.colptr(c % n_clean), activated.colptr(c % n_clean), d_mlp, changed.colptr(c));
    }
  } else {
    activation_difference(pre, activated, config.activation, changed);
  }
  W_out_.multiply(blas::View(changed).rows(0, d_mlp), output, add);
}

std::uint64_t MlpDifference::bytes(const ModelConfig& config, Index n_clean, Index n_column,
                                   Engine differences) {
  const std::uint64_t clean = config.d_model + config.d_in() + config.d_mlp,
                      variants = config.d_model + config.d_in();
  return (clean * n_clean + variants * n_column) * sizeof(float) +
         packed_bytes(config.d_model, config.d_in(), differences) +
         packed_bytes(config.d_mlp, config.d_model, differences);
}

}  // namespace headscope
