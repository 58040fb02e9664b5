// Models of every architecture as Hugging Face writes them: tests/data/make_architectures.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "headscope/prune.hpp"
#include "model/architecture/architecture.hpp"
#include "model/stored_tensor.hpp"
#include "support/architecture_models.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string folder_of(const std::string& name) {
  return test::architecture_model(name);
}

void expect_same(const Model& a, const Model& b) {
  for_each_tensor(a.config, [&](const TensorSpec& spec, Index layer) {
    ASSERT_EQ(tensor_values(a, spec, layer).size(), tensor_values(b, spec, layer).size());
    if (tensor_values(a, spec, layer).empty()) return;  // a tied unembedding
    EXPECT_EQ(gather_stored(tensor_values(a, spec, layer), spec, a.config, layer),
              gather_stored(tensor_values(b, spec, layer), spec, b.config, layer))
        << spec.name_in(layer);
  });
}

TEST(Architectures, ConfigsOfHuggingFaceSayWhatModelsHave) {
  const ModelConfig pythia = load_model(folder_of("pythia")).config;
  EXPECT_TRUE(pythia.parallel_residual);
  EXPECT_EQ(pythia.d_rotary(), 4U);
  EXPECT_DOUBLE_EQ(pythia.rotary.theta, 100);
  EXPECT_FALSE(pythia.tied_unembedding);
  EXPECT_EQ(pythia.activation, Activation::gelu);
  const ModelConfig in_turn = load_model(folder_of("neox_in_turn")).config;
  EXPECT_FALSE(in_turn.parallel_residual);
  EXPECT_FALSE(in_turn.qkv_bias);
  EXPECT_TRUE(in_turn.mlp_bias);
  EXPECT_DOUBLE_EQ(in_turn.rotary.share, 0.5);
  const ModelConfig llama = load_model(folder_of("llama")).config;
  EXPECT_EQ(llama.norm, NormKind::rms_norm);
  EXPECT_EQ(llama.d_z(), 48U);
  EXPECT_EQ(llama.d_kv(), 16U);
  EXPECT_TRUE(llama.gated_mlp);
  EXPECT_EQ(llama.rotary.scaling, RotaryScaling::llama3);
  EXPECT_DOUBLE_EQ(llama.rotary.original_n_ctx, 32);
  const ModelConfig biased = load_model(folder_of("llama_biased")).config;
  EXPECT_EQ(biased.rotary.scaling, RotaryScaling::linear);
  EXPECT_DOUBLE_EQ(biased.rotary.factor, 4);
  EXPECT_TRUE(biased.qkv_bias && biased.output_bias && biased.mlp_bias);
  const ModelConfig qwen2 = load_model(folder_of("qwen2")).config;
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.output_bias);
  EXPECT_EQ(load_model(folder_of("mistral")).config.n_group(), 1U);
}

TEST(Architectures, EachIsThatOfAModelThatTestsRead) {
  std::set<std::string> of_models{
      load_model(test::data_path("tiny_safetensors")).config.architecture};
  for (const std::string& name : test::architecture_models()) {
    of_models.insert(load_model(folder_of(name)).config.architecture);
  }
  for (const Architecture* const known : architectures()) {
    EXPECT_TRUE(of_models.contains(known->defaults.architecture)) << known->title;
  }
}

TEST(Architectures, EveryModelIsCompleteAndHasTheParametersOfItsFile) {
  for (const std::string& name : test::architecture_models()) {
    const Model model = load_model(folder_of(name));
    EXPECT_TRUE(model.is_complete()) << name;
    const FileDescription described = describe_file(folder_of(name));
    ASSERT_TRUE(described.model) << name;
    EXPECT_EQ(described.model->counts.total(), described.model->n_stored) << name;
    EXPECT_EQ(held_parameters(model).total(), described.model->n_stored) << name;
    const LayerWeights& layer = model.layers[1];
    EXPECT_EQ(layer.W_QKV.n_rows, model.config.d_qkv()) << name;
    EXPECT_EQ(layer.W_O.n_cols, model.config.d_z()) << name;
    EXPECT_EQ(layer.W_in.n_rows, model.config.d_in()) << name;
    EXPECT_EQ(layer.b_QKV.empty(), !model.config.qkv_bias) << name;
    EXPECT_EQ(layer.b_O.empty(), !model.config.output_bias) << name;
    EXPECT_TRUE(model.W_P.empty()) << name;
  }
}

TEST(Architectures, ConvertedModelsLoadAsTheyWere) {
  const test::TemporaryDirectory folder;
  for (const std::string& name : test::architecture_models()) {
    const Model model = load_model(folder_of(name));
    save_model(model, folder.file("model.h5"));
    const Model again = load_model(folder.file("model.h5"));
    expect_same(model, again);
    EXPECT_EQ(again.config.architecture, model.config.architecture) << name;
    EXPECT_EQ(again.config.rotary_rates(), model.config.rotary_rates()) << name;
    EXPECT_EQ(again.config.parallel_residual, model.config.parallel_residual) << name;
    EXPECT_EQ(again.config.d_head(), model.config.d_head()) << name;
    EXPECT_EQ(again.config.n_group(), model.config.n_group()) << name;
    EXPECT_EQ(again.config.layer_norm_epsilon, model.config.layer_norm_epsilon) << name;
    EXPECT_EQ(again.config.activation, model.config.activation) << name;
    EXPECT_EQ(again.config.tied_unembedding, model.config.tied_unembedding) << name;
  }
}

TEST(Architectures, KeysAndValuesStayWhileAHeadOfTheirGroupDoes) {
  const test::TemporaryDirectory folder;
  Model model = load_model(folder_of("llama"));  // 6 heads, 2 groups
  const Model before = model;
  const std::vector<HeadIndex> heads{{0, 0}, {0, 1}, {1, 3}, {1, 4}, {1, 5}};
  prune_heads(model, heads, PruneMode::remove);
  const ModelConfig& config = model.config;
  const auto rows = [&](const Model& of, Index layer, Index first) {
    return Matrix(of.layers[layer].W_QKV.rows(first, first + config.d_head() - 1));
  };
  const auto is_zero = [&](Index layer, Index first) {
    return rows(model, layer, first).is_zero();
  };
  EXPECT_TRUE(is_zero(0, config.q_row(1)));
  EXPECT_FALSE(is_zero(0, config.k_row(1))) << "head 2 shares it";
  EXPECT_TRUE(is_zero(1, config.k_row(3)));
  EXPECT_TRUE(is_zero(1, config.v_row(5)));
  EXPECT_FALSE(is_zero(1, config.v_row(2)));
  EXPECT_FALSE(model.layers[0].W_O.cols(16, 23).is_zero());
  EXPECT_TRUE(model.layers[0].W_O.cols(8, 15).is_zero());

  save_model(model, folder.file("pruned.h5"));
  const Model again = load_model(folder.file("pruned.h5"));
  EXPECT_EQ(again.config.pruned_heads, heads);
  expect_same(model, again);
  // Five heads' q and o, one group's k and v.
  EXPECT_EQ(parameter_counts(before.config).total() - parameter_counts(config).total(),
            24U * 8 * (5 * 2 + 2));
}

TEST(Architectures, AnUntrainedModelHasHuggingFacesDeviations) {
  ModelConfig config = load_model(folder_of("llama")).config;
  config.d_mlp = 400;
  config.initial_deviation = 0.05;
  const Model model = random_model(config, 7);
  EXPECT_TRUE(model.is_complete());
  for (const Matrix& weights : {model.layers[0].W_in, model.layers[1].W_out, model.W_E}) {
    const arma::fvec values = arma::vectorise(weights);
    EXPECT_NEAR(arma::stddev(values), 0.05, 0.004);  // 1272 to 19200 values
  }
  EXPECT_EQ(arma::accu(model.layers[1].ln_2_gain), 24.0F);
  EXPECT_EQ(random_model(config, 7).layers[1].W_QKV.at(3, 5), model.layers[1].W_QKV.at(3, 5));
  EXPECT_FALSE(arma::approx_equal(model.layers[0].W_in.rows(0, 399),
                                  model.layers[0].W_in.rows(400, 799), "absdiff", 1e-3));
}

class ArchitectureRefusals : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;

  std::string error_after(const std::string& name, const json& changes) const {
    const std::string path = folder_.file(name);
    fs::remove_all(path);
    fs::copy(folder_of(name), path);
    json config = json::parse(test::read_file(path + "/config.json"));
    config.update(changes);
    test::write_file(path + "/config.json", config.dump());
    std::string text = test::message_of<DataError>([&] { load_model(path); });
    for (std::size_t at = 0; (at = text.find(path + "/")) != std::string::npos;) {
      text.erase(at, path.size() + 1);
    }
    return text;
  }
};

TEST_F(ArchitectureRefusals, WhatIsNotComputedIsNamed) {
  EXPECT_EQ(error_after("llama", {{"model_type", "mamba"}}),
            "config.json:model_type: expected " + architecture_names() + ", got \"mamba\"");
  EXPECT_EQ(error_after("mistral", {{"model_type", "mixtral"}, {"num_local_experts", 8}}),
            "config.json:num_local_experts: expected a model without experts, got 8");
  EXPECT_EQ(
      error_after("qwen2", {{"is_causal", false}}),
      "config.json:is_causal: expected true, since queries attend to no later key, got false");
  EXPECT_EQ(error_after("qwen2", {{"num_experts", 0}}), "no error");
  EXPECT_EQ(error_after("qwen2", {{"num_experts", 1.5}}),
            "config.json:num_experts: expected a whole number from 1 to 2147483647, got 1.5");
  EXPECT_EQ(error_after("llama", {{"quantization_config", {{"quant_method", "gptq"}}}}),
            "config.json:quantization_config: expected weights that are not quantized, got "
            "\"gptq\"");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"rope_type", "yarn"}}}}),
            "config.json:rope_parameters: expected rope_type default, linear or llama3, got "
            "\"yarn\"");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"rope_type", "linear"}}}}),
            "config.json:rope_parameters.factor: expected a number, since rope_type is linear, got "
            "none");
  EXPECT_EQ(error_after("llama", {{"rope_parameters",
                                   {{"rope_type", "llama3"},
                                    {"factor", 8},
                                    {"low_freq_factor", 1},
                                    {"high_freq_factor", 4}}}}),
            "config.json:rope_parameters.original_max_position_embeddings: expected a number, "
            "since rope_type is llama3, got none");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"factor", 4}}}}),
            "config.json:rope_parameters.rope_type: expected linear or llama3, since factor is "
            "given, got none");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"rope_type", "default"}}},
                                  {"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}),
            "config.json:rope_scaling: expected the scaling of rope_parameters, none, got "
            "{\"factor\":4.0,\"rope_type\":\"linear\"}");
  EXPECT_EQ(
      error_after("llama", {{"rope_scaling", {{"rope_theta", 9e9}, {"type", "default"}}}}),
      "config.json:rope_scaling.rope_theta: expected 500 as in rope_parameters, got 9000000000");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"full_attention", json::object()}}}}),
            "config.json:rope_parameters: expected the same parameters for all layers, got "
            "\"full_attention\"");
  EXPECT_EQ(error_after("llama", {{"hidden_act", "xielu"}}).substr(0, 34),
            "config.json:hidden_act: expected g");
}

TEST_F(ArchitectureRefusals, TensorsThatDoNotFitTheConfigAreNamed) {
  EXPECT_EQ(error_after("llama", {{"num_key_value_heads", 3}}),
            "model.safetensors:model.layers.0.self_attn.k_proj.weight: expected shape [24, 24], "
            "got [16, 24]");
  EXPECT_EQ(error_after("llama_biased", {{"attention_bias", false}}),
            "model.safetensors:model.layers.0.self_attn.q_proj.bias: expected no such tensor, as "
            "the config says, got shape [24]");
  EXPECT_EQ(error_after("llama", {{"num_hidden_layers", 3}}),
            "config.json:num_hidden_layers: expected 2, the number of layers in "
            "model.safetensors, got 3");
  EXPECT_THAT(
      error_after("llama", {{"model_type", nullptr}}),
      AllOf(StartsWith("model.safetensors: expected GPT-2 tensors such as h.0.attn.c_attn.weight, "
                       "found none; model.embed_tokens.weight is a tensor of Llama, "),
            EndsWith(", whose config.json beside the file must name the model_type")));
  EXPECT_THAT(error_after("llama_biased", {{"num_attention_heads", nullptr}}),
              HasSubstr("num_attention_heads: expected a whole number, got none"));
}

TEST_F(ArchitectureRefusals, FieldsHaveTheNamesOfTheConfig) {
  EXPECT_EQ(error_after("llama", {{"num_key_value_heads", 4}}),
            "config.json:num_key_value_heads: expected a divisor of num_attention_heads = 6, got "
            "4");
  EXPECT_EQ(error_after("llama", {{"head_dim", nullptr}, {"num_attention_heads", 5}}),
            "config.json:num_attention_heads: expected a divisor of hidden_size = 24, got 5");
  EXPECT_EQ(error_after("llama", {{"head_dim", 7}}),
            "config.json:head_dim: expected heads of an even number of dimensions, which turn in "
            "pairs, got 7 dimensions");
  EXPECT_EQ(error_after("llama", {{"rms_norm_eps", 0}}),
            "config.json:rms_norm_eps: expected a positive number, got 0");
  EXPECT_EQ(error_after("pythia", {{"layer_norm_eps", 0}}),
            "config.json:layer_norm_eps: expected a positive number, got 0");
  EXPECT_EQ(error_after("llama", {{"max_position_embeddings", 20'000'000}}),
            "config.json:max_position_embeddings: expected at most 10000000, got 20000000");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", nullptr}, {"rope_theta", -5}}),
            "config.json:rope_theta: expected a positive number, got -5");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"rope_theta", 0}}}}),
            "config.json:rope_parameters.rope_theta: expected a positive number, got 0");
  EXPECT_EQ(error_after("llama", {{"rope_parameters", {{"type", "linear"}, {"factor", 0}}}}),
            "config.json:rope_parameters.factor: expected a positive number, got 0");
  EXPECT_EQ(error_after("llama", {{"rope_parameters",
                                   {{"rope_type", "llama3"},
                                    {"factor", 8},
                                    {"low_freq_factor", 4},
                                    {"high_freq_factor", 4},
                                    {"original_max_position_embeddings", 32}}}}),
            "config.json:rope_parameters.low_freq_factor: expected less than high_freq_factor = 4, "
            "got 4");
}

TEST_F(ArchitectureRefusals, ParametersOfRotationAreNamedWhereTheyAreStated) {
  EXPECT_EQ(error_after("pythia", {{"rotary_pct", 0.25},
                                   {"rope_parameters", {{"partial_rotary_factor", 1.5}}}}),
            "config.json:rope_parameters.partial_rotary_factor: expected an even number of the 8 "
            "dimensions of a head, got 1.5");
  EXPECT_EQ(error_after("pythia", {{"rotary_pct", 1.5}, {"rope_parameters", nullptr}}),
            "config.json:rotary_pct: expected an even number of the 8 dimensions of a head, got "
            "1.5");
  EXPECT_EQ(
      error_after("llama", {{"rope_theta", 10000.0}, {"rope_parameters", {{"rope_theta", "x"}}}}),
      "config.json:rope_parameters.rope_theta: expected a number, got \"x\"");
}

TEST_F(ArchitectureRefusals, AMissingUnembeddingIsMissedByTheConfigOrByDefault) {
  const auto without_unembedding = [&](const json& tied) {
    EXPECT_EQ(error_after("llama", {{"tie_word_embeddings", tied}}), "no error");
    const std::string path = folder_.file("llama"), weights = path + "/model.safetensors";
    std::string bytes = test::read_file(weights);
    bytes.replace(bytes.find("lm_head.weight"), 7, "lm_none");
    test::write_file(weights, bytes);
    return test::message_of<DataError>([&] { load_model(path); });
  };
  EXPECT_THAT(without_unembedding(nullptr),
              HasSubstr("lm_head.weight: expected a tensor, since tie_word_embeddings is false by "
                        "default for Llama, got no such tensor"));
  EXPECT_THAT(
      without_unembedding(false),
      HasSubstr("lm_head.weight: expected a tensor, since tie_word_embeddings is false in " +
                folder_.file("llama/config.json") + ", got no such tensor"));
}

TEST_F(ArchitectureRefusals, TheFirstOfSeveralFirstTokensCounts) {
  const auto first_token = [&](const json& field) {
    EXPECT_EQ(error_after("llama", {{"bos_token_id", field}}), "no error");
    return load_model(folder_.file("llama")).config.first_token;
  };
  EXPECT_EQ(first_token(json::array({7})), Index{7});
  EXPECT_EQ(first_token(json::array({8, 7})), Index{8});
  EXPECT_EQ(first_token(-1), std::nullopt);
  EXPECT_EQ(error_after("llama", {{"bos_token_id", json::array()}}),
            "config.json:bos_token_id: expected a token id, got []");
  EXPECT_EQ(error_after("llama", {{"bos_token_id", 1.5}}),
            "config.json:bos_token_id: expected a token id, got 1.5");
}

TEST(Architectures, AnUnembeddingBiasIsKept) {
  const test::TemporaryDirectory folder;
  for (const std::string name : {"pythia", "llama", "qwen2"}) {
    Model model = load_model(folder_of(name));
    EXPECT_TRUE(model.b_U.empty()) << name;
    model.b_U.set_size(model.config.d_vocab);
    model.b_U.fill(0.5F);
    save_model(model, folder.file("model.h5"));
    const Model again = load_model(folder.file("model.h5"));
    EXPECT_EQ(again.b_U.n_elem, model.config.d_vocab) << name;
    expect_same(model, again);
  }
}

TEST_F(ArchitectureRefusals, APartOfAHeadMayTurn) {
  EXPECT_EQ(error_after("qwen2", {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}),
            "no error");
  const Model model = load_model(folder_.file("qwen2"));
  EXPECT_EQ(model.config.d_rotary(), model.config.d_head() / 2);
  save_model(model, folder_.file("flat.h5"));
  EXPECT_EQ(load_model(folder_.file("flat.h5")).config.d_rotary(), model.config.d_rotary());
}

TEST_F(ArchitectureRefusals, ASlidingWindowBoundsTheContext) {
  EXPECT_EQ(error_after("mistral", {{"sliding_window", 16}}), "no error");
  const ModelConfig bounded = load_model(folder_.file("mistral")).config;
  EXPECT_EQ(bounded.n_ctx, 16U);
  EXPECT_EQ(bounded.context_bound(), "the model's sliding window");
  save_model(load_model(folder_.file("mistral")), folder_.file("flat.h5"));
  EXPECT_EQ(load_model(folder_.file("flat.h5")).config.context_bound(),
            "the model's sliding window");
  EXPECT_EQ(error_after("mistral", {{"sliding_window", 4096}}), "no error");
  const ModelConfig wide = load_model(folder_.file("mistral")).config;
  EXPECT_EQ(wide.n_ctx, 64U);
  EXPECT_EQ(wide.context_bound(), "the model's context");
  EXPECT_EQ(error_after("qwen2", {{"sliding_window", 16}, {"use_sliding_window", false}}),
            "no error");
  EXPECT_EQ(load_model(folder_.file("qwen2")).config.n_ctx, 64U);
  EXPECT_EQ(error_after("qwen2", {{"sliding_window", 16}, {"use_sliding_window", true}}),
            "no error");
  save_model(load_model(folder_.file("qwen2")), folder_.file("flat.h5"));
  EXPECT_EQ(load_model(folder_.file("flat.h5")).config.context_bound(),
            "the model's sliding window");
}

TEST(Architectures, EachNameOfATableIsRecognisedInEachOfItsForms) {
  for (const Architecture* const each : architectures()) {
    for (const TensorSpec& spec : each->tensors) {
      for (const std::string prefix : {"", "module.", "_orig_mod.model."}) {
        const auto id = parse_tensor_name(prefix + spec.name_in(7), each->defaults);
        ASSERT_TRUE(id) << spec.name;
        EXPECT_EQ(id->spec, &spec);
        EXPECT_EQ(id->layer, spec.per_layer() ? 7U : 0U);
      }
    }
  }
}

}  // namespace
}  // namespace headscope
