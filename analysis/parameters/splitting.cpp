#include "parameters/splitting.hpp"

#include <algorithm>

#include "compute/ops.hpp"
#include "headscope/attention.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

Matrix random_input(const LayerWeights& layer, Index n_token, const CounterRandom& random) {
  arma::mat X(layer.ln_1_gain.n_elem, n_token);
  fill_normal(X.memptr(), X.n_elem, random);
  X.each_col() %= arma::conv_to<arma::vec>::from(layer.ln_1_gain);
  X.each_col() += arma::conv_to<arma::vec>::from(layer.ln_1_bias);
  return arma::conv_to<Matrix>::from(X);
}

/// Queries, keys and values of some heads: three products, one below the other.
/// @param n_row  of each of them.
Matrix project(const LayerWeights& layer, Index first, Index n_row, const Matrix& X) {
  Matrix projected(3 * n_row, X.n_cols, arma::fill::none);
  for (Index i = 0; i < 3; ++i) {
    const Index row = i * layer.W_O.n_cols + first;
    const blas::View out = blas::View(projected).rows(i * n_row, n_row);
    blas::multiply(blas::ConstView(layer.W_QKV).rows(row, n_row), X, out);
    add_bias(out, layer.b_QKV.subvec(row, row + n_row - 1));
  }
  return projected;
}

/// The layer's attention output with its heads in groups, each projected and attended by itself.
Matrix attention_output(const Model& model, Index index, Index n_group, const Matrix& X) {
  const LayerWeights& layer = model.layers[index];
  const Index n_head = model.config.n_head / n_group, n_row = layer.W_O.n_cols / n_group;
  Matrix z(layer.W_O.n_cols, X.n_cols), output(layer.W_O.n_rows, X.n_cols, arma::fill::none);
  for (Index group = 0; group < n_group; ++group) {
    causal_attention(project(layer, group * n_row, n_row, X), n_head,
                     model.config.score_scale(index), blas::View(z).rows(group * n_row, n_row));
  }
  blas::multiply(layer.W_O, z, output);
  add_bias(output, layer.b_O);
  return output;
}

}  // namespace

SplittingDifference splitting_difference(const Model& model, std::uint64_t seed) {
  SplittingDifference result;
  result.n_token = std::min<Index>(64, model.config.n_ctx);
  for (Index l = 0; l < model.layers.size(); ++l) {
    const LayerWeights& layer = model.layers[l];
    const Matrix X = random_input(layer, result.n_token, CounterRandom(seed, l));
    const Matrix fused = attention_output(model, l, 1, X);
    const Matrix separate = attention_output(model, l, model.config.n_head, X);
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
