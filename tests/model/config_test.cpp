#include "headscope/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headscope/error.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

ModelConfig grouped() {
  ModelConfig config = test::config_of(
      {.n_layer = 1, .n_head = 6, .d_model = 8, .d_mlp = 5, .n_ctx = 64, .d_vocab = 7});
  config.n_kv_head = 2;
  config.head_width = 16;
  config.positions = PositionKind::rotary;
  return config;
}

TEST(ModelConfig, ADefaultOneHasAGroupOfItsOwnForEachHead) {
  const ModelConfig config = test::config_of({.n_layer = 1, .n_head = 2, .d_model = 8});
  EXPECT_EQ(config.d_head(), 4U);
  EXPECT_EQ(config.n_group(), 2U);
  EXPECT_EQ(config.d_qkv(), 24U);
  EXPECT_EQ(config.q_row(1), 4U);
  EXPECT_EQ(config.k_row(1), 12U);
  EXPECT_EQ(config.v_row(1), 20U);
  EXPECT_EQ(config.d_rotary(), 0U);
}

TEST(ModelConfig, HeadsLeftAreThoseOfTheLayer) {
  ModelConfig config = test::config_of({.n_layer = 2, .n_head = 3, .d_model = 6});
  config.pruned_heads = {{0, 1}, {1, 0}, {1, 1}, {1, 2}};
  EXPECT_EQ(config.heads_left(), (std::vector<Index>{0, 2}));
  EXPECT_EQ(config.heads_left_in(0), (std::vector<Index>{0, 2}));
  EXPECT_TRUE(config.heads_left_in(1).empty());
}

TEST(ModelConfig, ConsecutiveHeadsShareTheirGroupsKeysAndValues) {
  const ModelConfig config = grouped();
  EXPECT_EQ(config.d_qkv(), (6U + 2 + 2) * 16);
  EXPECT_EQ(config.q_row(5), 5U * 16);
  EXPECT_EQ(config.k_row(2), 6U * 16);
  EXPECT_EQ(config.k_row(3), 7U * 16);
  EXPECT_EQ(config.v_row(0), 8U * 16);
  EXPECT_EQ(config.v_row(5), 9U * 16);
  config.check();
}

// Hugging Face's ROPE_INIT_FUNCTIONS (transformers 5.24) in float32.
TEST(ModelConfig, RotaryRatesAreHuggingFaces) {
  ModelConfig config = grouped();
  config.rotary = {.theta = 500,
                   .scaling = RotaryScaling::llama3,
                   .factor = 8,
                   .low_frequency_factor = 1,
                   .high_frequency_factor = 4,
                   .original_n_ctx = 64};
  const auto near = [](double value) { return testing::DoubleNear(value, 1e-7 * value); };
  using testing::ElementsAre;
  EXPECT_THAT(config.rotary_rates(),
              ElementsAre(near(1), near(0.4598632752895355), near(0.09761662781238556),
                          near(0.01215615589171648), near(0.005590170156210661),
                          near(0.0025707141030579805), near(0.0011821769876405597),
                          near(0.0005436398205347359)));
  config.rotary = {.scaling = RotaryScaling::linear, .factor = 4};
  EXPECT_THAT(
      config.rotary_rates(),
      ElementsAre(near(0.25), near(0.07905694097280502), near(0.025), near(0.007905694656),
                  near(0.0025), near(0.000790569465), near(0.00025), near(0.0000790569465)));
  config.rotary = {.share = 0.25};
  EXPECT_THAT(config.rotary_rates(), ElementsAre(near(1), near(0.01)));
}

TEST(ModelConfig, WhatDoesNotFitTogetherIsNamed) {
  const auto error_after = [](auto change) {
    ModelConfig config = grouped();
    change(config);
    return test::message_of<OptionError>([&] { config.check(); });
  };
  EXPECT_EQ(error_after([](ModelConfig& c) { c.n_kv_head = 4; }),
            "n_kv_head: expected a divisor of n_head = 6, got 4");
  EXPECT_EQ(error_after([](ModelConfig& c) { c.head_width = 0; }),
            "n_head: expected a divisor of d_model = 8, got 6");
  EXPECT_EQ(error_after([](ModelConfig& c) { c.rotary.share = 0.2; }),
            "rotary share: expected an even number of the 16 dimensions of a head, got 0.2");
  EXPECT_EQ(error_after([](ModelConfig& c) { c.head_width = 7; }),
            "head_width: expected heads of an even number of dimensions, which turn in pairs, got "
            "7 dimensions");
  EXPECT_EQ(error_after([](ModelConfig& c) { c.rotary.theta = 0; }),
            "rotary theta: expected a positive number, got 0");
  EXPECT_EQ(error_after([](ModelConfig& c) {
              c.rotary.scaling = RotaryScaling::llama3;
              c.rotary.low_frequency_factor = 4;
            }),
            "rotary low_frequency_factor: expected less than high_frequency_factor = 4, got 4");
}

}  // namespace
}  // namespace headscope
