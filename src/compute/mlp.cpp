#include "compute/mlp.hpp"

#include <algorithm>

#include "base/thread_errors.hpp"
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
template <typename Functions, bool biased>
HEADSCOPE_VECTORISED void gate_column(const float* gate, const float* bias, Index n,
                                      float* hidden) {
  const float* const up = gate + n;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    hidden[i] = Functions::value(biased ? gate[i] + bias[i] : gate[i]) *
                (biased ? up[i] + bias[n + i] : up[i]);
  }
}

// d = the gradient of gate and up, from that of the hidden units in its first n rows.
template <typename Functions, bool biased>
HEADSCOPE_VECTORISED void gate_gradient_column(const float* gate, const float* bias, Index n,
                                               float* d) {
  const float* const up = gate + n;
  float* const d_up = d + n;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const float g = biased ? gate[i] + bias[i] : gate[i];
    d_up[i] = d[i] * Functions::value(g);
    d[i] = d[i] * (biased ? up[i] + bias[n + i] : up[i]) * Functions::slope(g);
  }
}

// d = activation(x + d) - activated.
template <typename Functions>
HEADSCOPE_VECTORISED void activation_difference_column(const float* x, const float* activated,
                                                       Index n, float* d) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) d[i] = Functions::value(x[i] + d[i]) - activated[i];
}

// d = activation(gate + d) (up + d_up) - activated up. Without the cancellation of the products.
template <typename Functions>
HEADSCOPE_VECTORISED void gate_difference_column(const float* gate, const float* activated,
                                                 const float* up, const float* d_up, Index n,
                                                 float* d) {
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
  const auto column = activations::with_functions(config_->activation, [&](auto functions) {
    using Functions = decltype(functions);
    return bias.is_empty() ? gate_column<Functions, false> : gate_column<Functions, true>;
  });
  for_each_column(pre.n_row, pre.n_col, [&](Index t) {
    column(pre.column(t), bias.memptr(), hidden.n_row, hidden.column(t));
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
    const auto column = activations::with_functions(config_->activation, [&](auto functions) {
      using Functions = decltype(functions);
      return bias.is_empty() ? gate_gradient_column<Functions, false>
                             : gate_gradient_column<Functions, true>;
    });
#pragma omp parallel for schedule(static)
    for (Index t = 0; t < pre.n_col; ++t) {
      column(pre.column(t), bias.memptr(), d_mlp, dpre.column(t));
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
  products_ = products.differences;
  const blas::ConstView W_in = weights.W_in;
  W_in_.set(W_in.rows(0, config.d_mlp), Transpose::no, *products_);
  if (config.gated_mlp) W_up_.set(W_in.rows(config.d_mlp, config.d_mlp), Transpose::no, *products_);
  W_out_.set(weights.W_out, Transpose::no, *products_);
  Matrix normalized = clean_normalized_.matrix(config.d_model, clean.n_col);
  Matrix pre = clean_pre_.matrix(config.d_in(), clean.n_col);
  Matrix activated = clean_activated_.matrix(config.d_mlp, clean.n_col);
  norm.apply(clean, normalized);
  mlp.project(normalized, pre, products.attention);
  add_bias(pre, weights.b_in);
  add_bias_activate(blas::View(pre).rows(0, config.d_mlp), {}, config.activation, activated);
  pre_ = pre;
  activated_ = activated;
}

void MlpDifference::compute(blas::ConstView D, blas::View output, bool add) {
  check_variants(clean_, D);
  check_count("columns of the output", D.n_col, output.n_col);
  if (W_in_.packs_for(D.n_col)) {
    compute_by_blocks(D, output, add);
    return;
  }
  const Index most = variants_per_step(clean_.n_col) * clean_.n_col;
  for (Index first = 0; first < D.n_col; first += most) {
    const Index count = std::min(most, D.n_col - first);
    compute_by_steps(D.cols(first, count), output.cols(first, count), add);
  }
}

// One step after the other, each by all threads.
void MlpDifference::compute_by_steps(blas::ConstView D, blas::View output, bool add) {
  const ModelConfig& config = *mlp_->config_;
  const Index d_mlp = config.d_mlp;
  Matrix normalized = normalized_.matrix(config.d_model, D.n_col);
  Matrix hidden = hidden_.matrix(config.d_in(), D.n_col);
  const blas::View change = hidden;
  norm_->difference(clean_, D, normalized);
  W_in_.multiply(normalized, change.rows(0, d_mlp));
  if (config.gated_mlp) W_up_.multiply(normalized, change.rows(d_mlp, d_mlp));
#pragma omp parallel for schedule(static)
  for (Index c = 0; c < D.n_col; ++c) activate(0, c % clean_.n_col, change.cols(c, 1));
  W_out_.multiply(change.rows(0, d_mlp), output, add);
}

// For a block of columns: their inputs and output, and some of their hidden units.
struct MlpDifference::ThreadMemory {
  Buffer normalized, hidden, output;
  PackedColumns packed_input, packed_hidden;
};

// Some columns and hidden units at a time, so that they stay in a core's cache between the steps,
// and all variants of a token together, so that they share its clean values.
void MlpDifference::compute_by_blocks(blas::ConstView D, blas::View output, bool add) const {
  const ModelConfig& config = *mlp_->config_;
  const Index n_token = clean_.n_col, n_variant = D.n_col / n_token;
  for_blocks_in_parallel(
      D.n_col, WeightProduct::columns_at_once(D.n_col), [&](Index first, Index n_column) {
        const auto token_of = [&](Index c) { return (first + c) / n_variant; };
        const auto column_of = [&](Index c) {
          return (first + c) % n_variant * n_token + token_of(c);
        };
        auto& memory = products_->scratch().of_thread<ThreadMemory>();
        Matrix normalized = memory.normalized.matrix(config.d_model, 1);
        memory.packed_input.set_size(config.d_model, n_column, *products_);
        for (Index c = 0; c < n_column; ++c) {
          norm_->difference_of_column(clean_.column(token_of(c)), D.column(column_of(c)),
                                      normalized.memptr());
          memory.packed_input.set_column(c, normalized.memptr());
        }
        Matrix block_output = memory.output.matrix(output.n_row, n_column);
        W_out_.for_input_blocks([&](Index first_unit, Index n_unit) {
          Matrix rows = memory.hidden.matrix(config.gated_mlp ? 2 * n_unit : n_unit, n_column);
          const blas::View change = rows, hidden = change.rows(0, n_unit);
          W_in_.multiply_serial(memory.packed_input, 0, hidden, first_unit);
          if (config.gated_mlp) {
            W_up_.multiply_serial(memory.packed_input, 0, change.rows(n_unit, n_unit), first_unit);
          }
          for (Index c = 0; c < n_column; ++c) activate(first_unit, token_of(c), change.cols(c, 1));
          memory.packed_hidden.set(hidden, *products_);
          W_out_.multiply_inputs_serial(first_unit, memory.packed_hidden, block_output,
                                        first_unit > 0);
        });
        for (Index c = 0; c < n_column; ++c) {
          float* const to = output.column(column_of(c));
          if (add) {
            add_scaled(block_output.colptr(c), 1, output.n_row, to);
          } else {
            std::copy_n(block_output.colptr(c), output.n_row, to);
          }
        }
      });
}

// The change of a column's hidden units in the first rows of `change`, from that of what they read.
// @param change  of the units from `first_unit` on, or of their gate | up.
void MlpDifference::activate(Index first_unit, Index token, blas::View change) const {
  const ModelConfig& config = *mlp_->config_;
  const float* const pre = pre_.column(token) + first_unit;
  const float* const activated = activated_.column(token) + first_unit;
  float* const d = change.data;
  if (config.gated_mlp) {
    const Index n_unit = change.n_row / 2;
    const auto column = activations::with_functions(config.activation, [](auto functions) {
      return gate_difference_column<decltype(functions)>;
    });
    column(pre, activated, pre + config.d_mlp, d + n_unit, n_unit, d);
    return;
  }
  const auto column = activations::with_functions(config.activation, [](auto functions) {
    return activation_difference_column<decltype(functions)>;
  });
  column(pre, activated, change.n_row, d);
}

std::uint64_t MlpDifference::bytes(const ModelConfig& config, Index n_clean, Index n_column,
                                   int n_thread, Engine differences) {
  const std::uint64_t d_model = config.d_model, d_in = config.d_in();
  const std::uint64_t kept =
      ((d_model + d_in + config.d_mlp) * n_clean + (d_model + d_in) * n_column) * sizeof(float);
  const Arithmetic* const arithmetic = entry_of(differences).arithmetic;
  if (arithmetic == nullptr) return kept;
  const Index most = WeightProduct::most_columns,
              n_unit = std::min(config.d_mlp, arithmetic->most_inputs());
  const std::uint64_t gate_and_up = config.gated_mlp ? 2 : 1,
                      block = (d_model + gate_and_up * n_unit) * most * sizeof(float) +
                              arithmetic->bytes(d_model, most) + arithmetic->bytes(n_unit, most);
  return kept + gate_and_up * arithmetic->bytes(d_model, config.d_mlp) +
         arithmetic->bytes(config.d_mlp, d_model) + n_thread * block;
}

}  // namespace headscope
