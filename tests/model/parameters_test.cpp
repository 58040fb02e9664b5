#include "headscope/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "support/double_reference.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

ModelConfig gpt2_small() {
  return test::config_of({.n_layer = 12,
                          .n_head = 12,
                          .d_model = 768,
                          .d_mlp = 3072,
                          .n_ctx = 1024,
                          .d_vocab = 50257});
}

ModelConfig tiny() {
  return test::config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 4, .d_mlp = 6, .n_ctx = 3, .d_vocab = 5});
}

TEST(ParameterCounts, GPT2SmallHas124439808) {
  const ParameterCounts counts = parameter_counts(gpt2_small());
  EXPECT_EQ(counts.total(), 124439808U);
  EXPECT_EQ(counts[Component::token_embedding], 50257U * 768);
  EXPECT_EQ(counts[Component::position_embedding], 1024U * 768);
  for (const Component projection : {Component::attention_q, Component::attention_k,
                                     Component::attention_v, Component::attention_o}) {
    EXPECT_EQ(counts[projection], 12U * 768 * 768) << component_name(projection);
  }
  EXPECT_EQ(counts[Component::attention_bias], 12U * 4 * 768);
  EXPECT_EQ(counts[Component::mlp], 12U * (2 * 768 * 3072 + 3072 + 768));
  EXPECT_EQ(counts[Component::layer_norm], 25U * 2 * 768);
  EXPECT_EQ(counts[Component::lm_head], 0U);
}

TEST(ParameterCounts, UntiedUnembeddingAndItsBiasAreCounted) {
  ModelConfig config = gpt2_small();
  config.tied_unembedding = false;
  EXPECT_EQ(parameter_counts(config)[Component::lm_head], 50257U * 768);
  EXPECT_EQ(parameter_counts(config, true)[Component::lm_head], 50257U * 769);
}

TEST(ParameterCounts, EqualTheElementsOfARandomModel) {
  ModelConfig config = tiny();
  config.tied_unembedding = false;
  const Model model = random_model(config, 1);
  std::uint64_t stored = 0;
  for (const TensorSpec& spec : tensors_of({})) {
    for (Index layer = 0; layer < (spec.per_layer() ? config.n_layer : 1); ++layer) {
      stored += tensor_values(model, spec, layer).size();
    }
  }
  EXPECT_EQ(stored, parameter_counts(config).total());
}

TEST(TensorNames, AreRecognisedWithTheirLayer) {
  for (const char* name : {"h.11.attn.c_attn.weight", "transformer.h.11.attn.c_attn.weight"}) {
    const auto id = parse_tensor_name(name);
    ASSERT_TRUE(id) << name;
    EXPECT_EQ(id->spec, &tensor_spec("h.{i}.attn.c_attn.weight"));
    EXPECT_EQ(id->layer, 11U);
  }
  for (const char* path :
       {"transformer/tfgpt2lm_head_model_1/transformer/h_._3/ln_2/gamma:0", "h_._3/ln_2/gamma:0"}) {
    const auto id = parse_keras_name(path);
    ASSERT_TRUE(id) << path;
    EXPECT_EQ(id->spec, &tensor_spec("h.{i}.ln_2.weight"));
    EXPECT_EQ(id->layer, 3U);
  }
  EXPECT_EQ(parse_keras_name("a/wte/weight:0")->spec, &tensor_spec("wte.weight"));
  EXPECT_EQ(parse_keras_name("a/wte/embeddings:0")->spec, &tensor_spec("wte.weight"));
  EXPECT_EQ(parse_tensor_name("lm_head.weight")->spec, &tensor_spec("lm_head.weight"));
}

TEST(TensorNames, OthersAreNot) {
  for (const char* name : {"h.0.attn.bias", "h..attn.c_attn.weight", "h.x.attn.c_attn.weight",
                           "h.-1.ln_1.weight", "h.99999999999.ln_1.weight", "xwte.weight", ""}) {
    EXPECT_FALSE(parse_tensor_name(name)) << name;
  }
  for (const char* path : {"a/xh_._0/ln_1/gamma:0", "ln_1/gamma:0", "h_._0/ln_1/gamma:1", ""}) {
    EXPECT_FALSE(parse_keras_name(path)) << path;
  }
}

TEST(TensorNames, EachFormNamesItsOwnTensor) {
  for (const TensorSpec& spec : tensors_of({})) {
    const auto id = parse_tensor_name(spec.name_in(7));
    ASSERT_TRUE(id);
    EXPECT_EQ(id->spec, &spec);
    EXPECT_EQ(id->layer, spec.per_layer() ? 7U : 0U);
    EXPECT_EQ(&tensor_spec(spec.name), &spec);
  }
  EXPECT_THROW(tensor_spec("h.0.ln_1.weight"), Error);
}

TEST(MissingTensors, AreNamedOnce) {
  Model model = random_model(tiny(), 1);
  EXPECT_TRUE(model.is_complete());
  for (LayerWeights& layer : model.layers) layer.W_in.reset();
  model.W_E.reset();
  EXPECT_THAT(missing_tensors(model), testing::ElementsAre("wte.weight", "h.{i}.mlp.c_fc.weight"));
  EXPECT_FALSE(model.is_complete());
}

TEST(RandomModel, HasGPT2sInitialisation) {
  ModelConfig config = tiny();
  config.d_model = 64;
  config.d_mlp = 256;
  config.d_vocab = 1000;
  const Model model = random_model(config, 5);
  // The standard deviation of 64,000 and of 16,384 draws has a standard error of 0.3 % and 0.6 %;
  // five of them, and four of the mean.
  EXPECT_NEAR(arma::stddev(arma::vectorise(model.W_E)), 0.02, 0.02 * 0.015);
  EXPECT_NEAR(arma::mean(arma::vectorise(model.W_E)), 0, 4 * 0.02 / std::sqrt(64000.));
  EXPECT_NEAR(arma::stddev(arma::vectorise(model.layers[1].W_out)), 0.01, 0.01 * 0.03);
  EXPECT_TRUE(arma::all(model.layers[0].ln_1_gain == 1));
  EXPECT_TRUE(arma::all(model.layers[0].b_QKV == 0));
}

TEST(RandomModel, IsRepeatableFromItsSeed) {
  const auto same = [](const Model& a, const Model& b) {
    return test::same_values(a.layers[1].W_QKV, b.layers[1].W_QKV);
  };
  const Model model = random_model(tiny(), 5);
  EXPECT_TRUE(same(model, random_model(tiny(), 5)));
  EXPECT_FALSE(same(model, random_model(tiny(), 6)));
  EXPECT_FALSE(test::same_values(model.layers[0].W_QKV, model.layers[1].W_QKV));
}

}  // namespace
}  // namespace headscope
