#include "parameters/splitting.hpp"

#include <algorithm>

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

AttentionWeights attention_weights(const Model& model, Index index) {
  const LayerWeights& layer = model.layers[index];
  const Index d = layer.W_QKV.n_cols;
  AttentionWeights weights;
  weights.n_head = model.config.n_head;
  weights.scale = static_cast<float>(model.config.score_scale(index));
  weights.W_Q = layer.W_QKV.rows(0, d - 1);
  weights.W_K = layer.W_QKV.rows(d, 2 * d - 1);
  weights.W_V = layer.W_QKV.rows(2 * d, 3 * d - 1);
  weights.W_O = layer.W_O;
  weights.b_Q = layer.b_QKV.subvec(0, d - 1);
  weights.b_K = layer.b_QKV.subvec(d, 2 * d - 1);
  weights.b_V = layer.b_QKV.subvec(2 * d, 3 * d - 1);
  weights.b_O = layer.b_O;
  return weights;
}

}  // namespace

SplittingDifference splitting_difference(const Model& model, std::uint64_t seed) {
  SplittingDifference result;
  result.n_token = std::min<Index>(64, model.config.n_ctx);
  for (Index l = 0; l < model.layers.size(); ++l) {
    const LayerWeights& layer = model.layers[l];
    const Matrix X = random_input(layer, result.n_token, CounterRandom(seed, l));
    const AttentionWeights weights = attention_weights(model, l);
    const AttentionMask mask = AttentionMask::causal();
    const Matrix fused = multi_head_attention(X, X, weights, mask).output;
    const Matrix separate = multi_head_attention_per_head(X, X, weights, mask).output;
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
