#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "headscope/model.hpp"
#include "model/architecture/architecture.hpp"

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

/// @param config  gives the rest.
inline ModelConfig config_of(const ConfigShape& shape, ModelConfig config = {}) {
  config.n_layer = shape.n_layer;
  config.n_head = shape.n_head;
  config.d_model = shape.d_model;
  config.d_mlp = shape.d_mlp;
  config.n_ctx = shape.n_ctx;
  config.d_vocab = shape.d_vocab;
  return config;
}

inline ModelConfig small_config(const ModelConfig& of = {}) {
  return config_of(
      {.n_layer = 3, .n_head = 4, .d_model = 32, .d_mlp = 96, .n_ctx = 160, .d_vocab = 1500}, of);
}

/// For models that only have to be there.
inline ModelConfig tiny_config() {
  return config_of(
      {.n_layer = 2, .n_head = 2, .d_model = 16, .d_mlp = 64, .n_ctx = 32, .d_vocab = 40});
}

struct NamedConfig {
  std::string name;
  ModelConfig config;
};

/// Small models of every kind that a config can describe, and of every architecture.
inline std::vector<NamedConfig> every_architecture() {
  const ModelConfig gpt2 = small_config();
  ModelConfig neox = gpt2;
  neox.architecture = "gpt_neox";
  neox.positions = PositionKind::rotary;
  neox.rotary.share = 0.5;
  neox.parallel_residual = true;
  neox.activation = Activation::gelu;
  neox.tied_unembedding = false;
  ModelConfig sequential = neox;
  sequential.parallel_residual = false;
  ModelConfig llama = gpt2;
  llama.architecture = "llama";
  llama.norm = NormKind::rms_norm;
  llama.positions = PositionKind::rotary;
  llama.n_kv_head = 2;
  llama.gated_mlp = true;
  llama.activation = Activation::silu;
  llama.qkv_bias = llama.output_bias = llama.mlp_bias = false;
  ModelConfig wide = llama;
  wide.head_width = 12;
  wide.n_kv_head = 1;
  wide.tied_unembedding = false;
  wide.rotary.scaling = RotaryScaling::llama3;
  wide.rotary.factor = 8;
  wide.rotary.original_n_ctx = 20;
  wide.rotary.theta = 100;
  ModelConfig qwen = llama;
  qwen.architecture = "qwen2";
  qwen.qkv_bias = true;
  qwen.rotary.scaling = RotaryScaling::linear;
  qwen.rotary.factor = 2;
  std::vector<NamedConfig> configs{
      {"gpt2", gpt2},   {"gpt_neox", neox},   {"gpt_neox_in_turn", sequential},
      {"llama", llama}, {"llama_wide", wide}, {"qwen2", qwen}};
  for (const Architecture* const known : architectures()) {
    const std::string& name = known->defaults.architecture;
    if (std::ranges::count(configs, name, &NamedConfig::name) > 0) continue;
    configs.push_back({name, small_config(known->defaults)});
  }
  return configs;
}

/// For INSTANTIATE_TEST_SUITE_P. @param info  testing::TestParamInfo<NamedConfig>.
inline constexpr auto name_of_config = [](const auto& info) { return info.param.name; };

/// A model in which every weight matters: no bias is zero and no gain is one.
inline Model random_weights(const ModelConfig& config, std::uint64_t seed) {
  Normal normal(seed);
  const Index d = config.d_model;
  const auto gain = [&] { return normal.vector(d, 0.2F, 1.0F); };
  const auto bias = [&](bool has, Index n) { return has ? normal.vector(n, 0.1F) : Vector(); };
  const bool norm_bias = config.norm == NormKind::layer_norm;
  Model model;
  model.config = config;
  model.W_E = normal.matrix(d, config.d_vocab, 0.5F);
  if (config.positions == PositionKind::learned) model.W_P = normal.matrix(d, config.n_ctx, 0.3F);
  for (Index l = 0; l < config.n_layer; ++l) {
    LayerWeights layer;
    layer.ln_1_gain = gain();
    layer.ln_1_bias = bias(norm_bias, d);
    layer.W_QKV = normal.matrix(config.d_qkv(), d, 0.25F);
    layer.b_QKV = bias(config.qkv_bias, config.d_qkv());
    layer.W_O = normal.matrix(d, config.d_z(), 0.15F);
    layer.b_O = bias(config.output_bias, d);
    layer.ln_2_gain = gain();
    layer.ln_2_bias = bias(norm_bias, d);
    layer.W_in = normal.matrix(config.d_in(), d, 0.2F);
    layer.b_in = bias(config.mlp_bias, config.d_in());
    layer.W_out = normal.matrix(d, config.d_mlp, 0.1F);
    layer.b_out = bias(config.mlp_bias, d);
    model.layers.push_back(layer);
  }
  model.ln_f_gain = gain();
  model.ln_f_bias = bias(norm_bias, d);
  if (!config.tied_unembedding) {
    model.W_U = normal.matrix(d, config.d_vocab, 0.5F);
    model.b_U = normal.vector(config.d_vocab, 0.5F);
  }
  return model;
}

}  // namespace headscope::test
