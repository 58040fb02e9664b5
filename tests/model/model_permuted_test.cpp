#include <gtest/gtest.h>

#include <algorithm>

#include "headscope/model.hpp"
#include "headscope/prune.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

std::vector<float> sorted(const Matrix& W, Index first_row, Index n_row) {
  std::vector<float> values(W.n_cols * n_row);
  for (Index i = 0; i < values.size(); ++i) values[i] = W(first_row + i % n_row, i / n_row);
  std::ranges::sort(values);
  return values;
}

bool same(const Matrix& a, const Matrix& b) {
  return arma::approx_equal(a, b, "absdiff", 0);
}

TEST(PermutedModel, ExchangesEntriesWithinEachMatrixOfALayerAlone) {
  const ModelConfig config = test::tiny_config();
  const Model model = random_model(config, 5), permuted = permuted_model(model, 1);
  EXPECT_TRUE(same(permuted.W_E, model.W_E) && same(permuted.W_P, model.W_P));
  for (Index l = 0; l < config.n_layer; ++l) {
    const LayerWeights &was = model.layers[l], &is = permuted.layers[l];
    for (const auto& [first, n] : {std::pair{Index{0}, config.d_z()},
                                   {config.d_z(), config.d_kv()},
                                   {config.d_z() + config.d_kv(), config.d_kv()}}) {
      EXPECT_EQ(sorted(is.W_QKV, first, n), sorted(was.W_QKV, first, n));
    }
    for (const auto member : {&LayerWeights::W_O, &LayerWeights::W_in, &LayerWeights::W_out}) {
      const Matrix &before = was.*member, &after = is.*member;
      EXPECT_FALSE(same(after, before));
      EXPECT_EQ(sorted(after, 0, after.n_rows), sorted(before, 0, before.n_rows));
    }
    EXPECT_FALSE(same(is.W_QKV, was.W_QKV));
    EXPECT_TRUE(arma::approx_equal(is.b_QKV, was.b_QKV, "absdiff", 0));
    EXPECT_TRUE(arma::approx_equal(is.ln_1_gain, was.ln_1_gain, "absdiff", 0));
  }
  EXPECT_TRUE(same(permuted_model(model, 1).layers[0].W_O, permuted.layers[0].W_O));
  EXPECT_FALSE(same(permuted_model(model, 2).layers[0].W_O, permuted.layers[0].W_O));
}

TEST(PermutedModel, AndRandomModelHaveThePrunedHeadsOfTheirModel) {
  ModelConfig config = test::tiny_config();
  Model model = random_model(config, 5);
  const std::vector<HeadIndex> heads{{1, 0}};
  prune_heads(model, heads, PruneMode::remove);
  const Index d_head = config.d_head(), last = config.d_z() - 1;
  for (const Model& control : {permuted_model(model, 1), random_model(model.config, 3)}) {
    EXPECT_EQ(control.config.pruned_heads, heads);
    const LayerWeights& layer = control.layers[1];
    for (const Index first : {config.q_row(0), config.k_row(0), config.v_row(0)}) {
      EXPECT_TRUE(layer.W_QKV.rows(first, first + d_head - 1).is_zero());
    }
    EXPECT_TRUE(layer.W_O.cols(0, d_head - 1).is_zero());
    EXPECT_FALSE(arma::any(arma::vectorise(layer.W_O.cols(d_head, last)) == 0.0F));
  }
}

TEST(PermutedModel, KeepsGateAndUpApart) {
  ModelConfig config = test::tiny_config();
  config.gated_mlp = true;
  Model model = random_model(config, 5);
  for (LayerWeights& layer : model.layers) {
    layer.W_in.set_size(config.d_in(), config.d_model);
    layer.W_in.head_rows(config.d_mlp).fill(1);
    layer.W_in.tail_rows(config.d_mlp).fill(2);
  }
  const Model permuted = permuted_model(model, 1);
  EXPECT_TRUE(same(permuted.layers[0].W_in, model.layers[0].W_in));
}

}  // namespace
}  // namespace headscope
