#include "parameters/splitting.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "compute/ops.hpp"
#include "headscope/attention.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

Matrix random_input(const LayerWeights& layer, Index n_token, const CounterRandom& random) {
  arma::mat X(layer.ln_1_gain.n_elem, n_token);
  fill_normal(X.memptr(), X.n_elem, random);
  X.each_col() %= arma::conv_to<arma::vec>::from(layer.ln_1_gain);
  if (!layer.ln_1_bias.empty()) {
    X.each_col() += arma::conv_to<arma::vec>::from(layer.ln_1_bias);
  }
  return arma::conv_to<Matrix>::from(X);
}

/// Products of some rows of W_QKV, one below the other.
/// @param first_rows  of n_row rows each.
Matrix project(const LayerWeights& layer, std::span<const Index> first_rows, Index n_row,
               const Matrix& X) {
  Matrix projected(first_rows.size() * n_row, X.n_cols, arma::fill::none);
  for (Index i = 0; i < first_rows.size(); ++i) {
    const Index row = first_rows[i];
    const blas::View out = blas::View(projected).rows(i * n_row, n_row);
    blas::multiply(blas::ConstView(layer.W_QKV).rows(row, n_row), X, out);
    if (!layer.b_QKV.empty()) add_bias(out, layer.b_QKV.subvec(row, row + n_row - 1));
  }
  return projected;
}

/// The layer's attention output, with queries and keys without rotation.
/// @param by_head  whether each head is projected and attended by itself.
Matrix attention_output(const Model& model, Index index, bool by_head, const Matrix& X) {
  const LayerWeights& layer = model.layers[index];
  const ModelConfig& config = model.config;
  const Index d_head = config.d_head();
  Matrix z(config.d_z(), X.n_cols), output(config.d_model, X.n_cols, arma::fill::none);
  const double scale = config.score_scale(index);
  if (by_head) {
    for (Index head = 0; head < config.n_head; ++head) {
      const std::array rows{config.q_row(head), config.k_row(head), config.v_row(head)};
      causal_attention(project(layer, rows, d_head, X), 1, scale,
                       blas::View(z).rows(head * d_head, d_head));
    }
  } else {
    causal_attention(project(layer, std::array{Index{0}}, config.d_qkv(), X), config.n_head, scale,
                     z);
  }
  blas::multiply(layer.W_O, z, output);
  if (!layer.b_O.empty()) add_bias(output, layer.b_O);
  return output;
}

}  // namespace

SplittingDifference splitting_difference(const Model& model, std::uint64_t seed) {
  SplittingDifference result;
  result.n_token = std::min<Index>(64, model.config.n_ctx);
  for (Index l = 0; l < model.layers.size(); ++l) {
    const LayerWeights& layer = model.layers[l];
    const Matrix X = random_input(layer, result.n_token, CounterRandom(seed, l));
    const Matrix fused = attention_output(model, l, false, X);
    const Matrix separate = attention_output(model, l, true, X);
    const double size = arma::abs(fused).max();
    if (size == 0) continue;
    const double relative = arma::abs(fused - separate).max() / size;
    if (relative > result.relative) {
      result.relative = relative;
      result.layer = l;
    }
  }
  return result;
}

}  // namespace headscope
