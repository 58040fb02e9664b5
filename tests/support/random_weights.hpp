#pragma once

#include <random>

#include "headscope/model.hpp"

namespace headscope::test {

/// Independent normal values, reproducible from the seed.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : generator_(seed) {}

  Matrix matrix(Index n_row, Index n_col, float scale = 1, float mean = 0) {
    Matrix values(n_row, n_col);
    values.imbue([&] { return mean + scale * normal_(generator_); });
    return values;
  }
  Vector vector(Index n, float scale = 1, float mean = 0) {
    return matrix(n, 1, scale, mean).col(0);
  }
  TokenIds tokens(Index n, Index d_vocab) {
    TokenIds ids(n);
    for (TokenId& id : ids) id = static_cast<TokenId>(generator_() % d_vocab);
    return ids;
  }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<float> normal_;
};

/// The counts and widths of a ModelConfig.
struct ConfigShape {
  Index n_layer = 1, n_head = 1, d_model = 0, d_mlp = 0, n_ctx = 0, d_vocab = 0;
};

inline ModelConfig config_of(const ConfigShape& shape) {
  ModelConfig config;
  config.n_layer = shape.n_layer;
  config.n_head = shape.n_head;
  config.d_model = shape.d_model;
  config.d_mlp = shape.d_mlp;
  config.n_ctx = shape.n_ctx;
  config.d_vocab = shape.d_vocab;
  return config;
}

inline ModelConfig small_config() {
  return config_of(
      {.n_layer = 3, .n_head = 4, .d_model = 32, .d_mlp = 96, .n_ctx = 160, .d_vocab = 1500});
}

/// For models that only have to be there.
inline ModelConfig tiny_config() {
  return config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 16, .d_mlp = 64, .n_ctx = 32, .d_vocab = 40});
}

/// A model in which every weight matters: no bias is zero and no gain is one.
inline Model random_weights(const ModelConfig& config, std::uint64_t seed) {
  Normal normal(seed);
  const Index d = config.d_model;
  const auto gain = [&] { return normal.vector(d, 0.2F, 1.0F); };
  Model model;
  model.config = config;
  model.W_E = normal.matrix(d, config.d_vocab, 0.5F);
  model.W_P = normal.matrix(d, config.n_ctx, 0.3F);
  for (Index l = 0; l < config.n_layer; ++l) {
    LayerWeights layer;
    layer.ln_1_gain = gain();
    layer.ln_1_bias = normal.vector(d, 0.1F);
    layer.W_QKV = normal.matrix(3 * d, d, 0.25F);
    layer.b_QKV = normal.vector(3 * d, 0.1F);
    layer.W_O = normal.matrix(d, d, 0.15F);
    layer.b_O = normal.vector(d, 0.1F);
    layer.ln_2_gain = gain();
    layer.ln_2_bias = normal.vector(d, 0.1F);
    layer.W_in = normal.matrix(config.d_mlp, d, 0.2F);
    layer.b_in = normal.vector(config.d_mlp, 0.1F);
    layer.W_out = normal.matrix(d, config.d_mlp, 0.1F);
    layer.b_out = normal.vector(d, 0.1F);
    model.layers.push_back(layer);
  }
  model.ln_f_gain = gain();
  model.ln_f_bias = normal.vector(d, 0.1F);
  if (!config.tied_unembedding) {
    model.W_U = normal.matrix(d, config.d_vocab, 0.5F);
    model.b_U = normal.vector(config.d_vocab, 0.5F);
  }
  return model;
}

}  // namespace headscope::test
