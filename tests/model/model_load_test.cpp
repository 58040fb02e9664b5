#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

constexpr LoadOptions three_heads{3};

// Compares every tensor of `model` with the float64 file that h5py wrote.
// relative, absolute: largest rounding errors of the model's storage type.
void expect_golden_values(const Model& model, double relative, double absolute = 0) {
  const hdf5::InputFile golden(test::data_path("tiny_flat/float64.h5"));
  for (const TensorSpec& spec : tensors_of({})) {
    if (spec.presence == Presence::optional) continue;
    for (Index layer = 0; layer < (spec.per_layer() ? 2 : 1); ++layer) {
      const std::span<const float> values = tensor_values(model, spec, layer);
      if (values.empty() && !model.is_complete()) continue;
      const Array expected = golden.read_reals(spec.name_in(layer));
      ASSERT_EQ(values.size(), expected.size()) << spec.name_in(layer);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto exact = static_cast<float>(expected.values[i]);
        ASSERT_NEAR(values[i], exact, absolute + relative * std::abs(exact))
            << model.path << " " << spec.name_in(layer) << " element " << i;
      }
    }
  }
}

TEST(ModelLoad, EveryFormatGivesTheSameWeights) {
  for (const char* name :
       {"tiny_tf/tf_model.h5", "tiny_tf/tf_model_published_layout.h5",
        "tiny_safetensors/model.safetensors", "tiny_safetensors_untied/model.safetensors",
        "tiny_flat/float64.h5", "tiny_flat/big_endian.h5", "tiny_flat/chunked.h5",
        "tiny_flat/untied_bias.h5", "tiny_flat/prefixed.h5", "tiny_flat/attention_only.h5",
        "hub/compiled.safetensors", "hub/parallel.safetensors"}) {
    const Model model = load_model(test::data_path(name), three_heads);
    expect_golden_values(model, 0);
    EXPECT_EQ(model.config.n_layer, 2U) << name;
    EXPECT_EQ(model.config.n_head, 3U) << name;
    EXPECT_EQ(model.config.d_model, 18U) << name;
    EXPECT_EQ(model.config.d_mlp, 72U) << name;
    EXPECT_EQ(model.config.n_ctx, 32U) << name;
    EXPECT_EQ(model.config.d_vocab, 61U) << name;
    EXPECT_EQ(model.config.activation, Activation::gelu_new) << name;
  }
}

TEST(ModelLoad, HalfPrecisionIsWithinItsRounding) {
  // Half a unit in the last place: float16 has 11 bits, and steps of 2^-24 below 2^-14; bfloat16
  // has 8 bits.
  expect_golden_values(load_model(test::data_path("tiny_flat/float16.h5")), 0x1p-11, 0x1p-25);
  expect_golden_values(load_model(test::data_path("tiny_safetensors_float16/model.safetensors")),
                       0x1p-11, 0x1p-25);
  expect_golden_values(load_model(test::data_path("tiny_safetensors_bfloat16/model.safetensors")),
                       0x1p-8);
}

TEST(ModelLoad, WeightsAreOutByIn) {
  const Model model = load_model(test::data_path("tiny_tf/tf_model.h5"));
  const hdf5::InputFile golden(test::data_path("tiny_flat/float64.h5"));
  const Array c_proj = golden.read_reals("h.1.attn.c_proj.weight");
  const Array wte = golden.read_reals("wte.weight");
  for (Index in = 0; in < 18; ++in) {
    for (Index out = 0; out < 18; ++out) {
      ASSERT_EQ(model.layers[1].W_O(out, in), static_cast<float>(c_proj(in, out)));
    }
    ASSERT_EQ(model.W_E(in, 60), static_cast<float>(wte(60, in)));
  }
}

TEST(ModelLoad, UnembeddingIsTiedUnlessTheFileHasItsOwn) {
  const Model tied = load_model(test::data_path("tiny_safetensors/model.safetensors"));
  EXPECT_TRUE(tied.config.tied_unembedding);
  EXPECT_TRUE(tied.W_U.empty());
  EXPECT_EQ(&tied.unembedding(), &tied.W_E);

  const Model untied = load_model(test::data_path("tiny_safetensors_untied/model.safetensors"));
  EXPECT_FALSE(untied.config.tied_unembedding);
  EXPECT_FALSE(test::same_values(untied.unembedding(), untied.W_E));
  EXPECT_TRUE(untied.b_U.empty());

  const Model biased = load_model(test::data_path("tiny_flat/untied_bias.h5"));
  EXPECT_FALSE(biased.config.tied_unembedding);
  EXPECT_TRUE(test::same_values(biased.W_U, untied.W_U));
  EXPECT_EQ(biased.b_U.n_elem, 61U);
}

// As safetensors' save_model writes tied weights: once, under the first of their names.
TEST(ModelLoad, TiedWeightsMayBeStoredAsTheUnembedding) {
  const std::string original = test::data_path("tiny_safetensors/model.safetensors");
  std::string bytes = test::read_file(original);
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  const std::string name = "\"transformer.wte.weight\"";
  std::string renamed = "\"lm_head.weight\"";
  renamed.resize(name.size(), ' ');
  bytes.replace(bytes.find(name), name.size(), renamed);
  const test::TemporaryDirectory folder;
  test::write_file(folder.file("model.safetensors"), bytes);
  std::filesystem::copy_file(test::data_path("tiny_safetensors/config.json"),
                             folder.file("config.json"));
  const Model model = load_model(folder.file("model.safetensors")), expected = load_model(original);
  EXPECT_TRUE(model.is_complete());
  EXPECT_TRUE(model.config.tied_unembedding);
  EXPECT_TRUE(test::same_values(model.W_E, expected.W_E));
  const FileDescription described = describe_file(folder.file("model.safetensors"));
  EXPECT_THAT(described.model->missing, testing::IsEmpty());
  EXPECT_EQ(described.model->n_stored, describe_file(original).model->n_stored);
}

TEST(ModelLoad, ConfigBesideTheFileIsHonoured) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.file("model.safetensors");
  std::filesystem::copy(test::data_path("tiny_safetensors/model.safetensors"), path);
  const auto with_config = [&](const std::string& name) {
    std::filesystem::copy_file(test::data_path("tiny_safetensors/config_" + name + ".json"),
                               folder.file("config.json"),
                               std::filesystem::copy_options::overwrite_existing);
    return load_model(path).config;
  };
  for (const Activation activation :
       {Activation::gelu, Activation::relu, Activation::silu, Activation::quick_gelu}) {
    const ModelConfig config = with_config(std::string(activation_name(activation)));
    EXPECT_EQ(config.activation, activation);
    EXPECT_TRUE(config.scale_by_width);
  }
  EXPECT_FALSE(with_config("unscaled").scale_by_width);
  EXPECT_EQ(with_config("epsilon").layer_norm_epsilon, 0.01);
}

TEST(ModelLoad, RecordsTheFileItCameFrom) {
  const test::TemporaryDirectory folder;
  const std::string path = test::data_path("tiny_flat/float16.h5");
  const Model model = load_model(path);
  EXPECT_EQ(model.path, path);
  EXPECT_EQ(model.sha256.size(), 64U);
  EXPECT_NE(model.sha256, load_model(test::data_path("tiny_flat/float64.h5")).sha256);
}

TEST(DescribeFile, SaysWhatAModelHoldsWithoutReadingIt) {
  const FileDescription tf = describe_file(test::data_path("tiny_tf/tf_model.h5"));
  EXPECT_EQ(tf.kind, FileKind::keras_model);
  ASSERT_TRUE(tf.model);
  EXPECT_EQ(tf.model->config.n_head, 3U);
  EXPECT_EQ(tf.model->config_file, test::data_path("tiny_tf/config.json"));
  EXPECT_THAT(tf.model->missing, testing::IsEmpty());
  EXPECT_EQ(tf.model->counts.total(), tf.model->n_stored);
  EXPECT_FALSE(tf.model->has_tokenizer);

  const FileDescription attention = describe_file(test::data_path("tiny_flat/attention_only.h5"));
  EXPECT_EQ(attention.kind, FileKind::flat_model);
  EXPECT_THAT(attention.model->missing, testing::ElementsAre("wte.weight", "h.{i}.mlp.c_fc.weight",
                                                             "h.{i}.mlp.c_proj.weight"));
  EXPECT_EQ(attention.attributes.at("n_embd"), "18");
  EXPECT_EQ(attention.attributes.at("activation_function"), "gelu_new");

  EXPECT_EQ(describe_file(test::data_path("tiny_safetensors/model.safetensors")).kind,
            FileKind::safetensors_model);
  EXPECT_EQ(describe_file(test::data_path("ops_golden.h5")).kind, FileKind::other_hdf5);
}

TEST(ModelLoad, RealGPT2SmallAttentionWeights) {
  const std::string path = test::shared_data + "/models/gpt2-small-attention.h5";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/models";
  const Model model = load_model(path);
  EXPECT_EQ(model.layers.size(), 12U);
  EXPECT_EQ(model.config.n_head, 12U);
  EXPECT_FALSE(model.is_complete());
  EXPECT_THAT(missing_tensors(model), testing::ElementsAre("wte.weight", "h.{i}.mlp.c_fc.weight",
                                                           "h.{i}.mlp.c_proj.weight"));
  EXPECT_EQ(parameter_counts(model.config).total(), 124439808U);
}

}  // namespace
}  // namespace headscope
