#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"
#include "support/temporary_directory.hpp"

namespace headscope {
namespace {

ModelConfig odd_config() {
  ModelConfig config = test::config_of(
      {.n_layer = 2, .n_head = 3, .d_model = 6, .d_mlp = 10, .n_ctx = 4, .d_vocab = 7});
  config.layer_norm_epsilon = 1e-3;
  config.activation = Activation::relu;
  config.tied_unembedding = false;
  return config;
}

class ModelSave : public testing::Test {
 protected:
  const test::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("model.h5");

  static void expect_same_weights(const Model& a, const Model& b) {
    for (const TensorSpec& spec : tensors_of({})) {
      for (Index layer = 0; layer < (spec.per_layer() ? a.layers.size() : 1); ++layer) {
        const auto left = tensor_values(a, spec, layer);
        const auto right = tensor_values(b, spec, layer);
        ASSERT_EQ(left.size(), right.size()) << spec.name_in(layer);
        for (std::size_t i = 0; i < left.size(); ++i) {
          ASSERT_EQ(left[i], right[i]) << spec.name_in(layer);
        }
      }
    }
  }
};

TEST_F(ModelSave, LoadGivesBackTheModel) {
  Model model = random_model(odd_config(), 9);
  model.config.scale_by_inverse_layer = true;
  model.config.scale_by_width = false;
  model.b_U.randu(7);
  model.tokenizer_vocab = R"({"Ġa": 0})";
  model.tokenizer_merges = "#version: 0.2\nĠ a\n";
  model.tokenizer_added_tokens = R"([{"content": "x", "id": 1}])";
  save_model(model, path_);
  const Model back = load_model(path_);
  expect_same_weights(model, back);
  EXPECT_EQ(back.config.n_head, 3U);
  EXPECT_EQ(back.config.d_mlp, 10U);
  EXPECT_EQ(back.config.layer_norm_epsilon, 1e-3);
  EXPECT_EQ(back.config.activation, Activation::relu);
  EXPECT_FALSE(back.config.tied_unembedding);
  EXPECT_TRUE(back.config.scale_by_inverse_layer);
  EXPECT_FALSE(back.config.scale_by_width);
  EXPECT_EQ(back.tokenizer_vocab, model.tokenizer_vocab);
  EXPECT_EQ(back.tokenizer_merges, model.tokenizer_merges);
  EXPECT_EQ(back.tokenizer_added_tokens, model.tokenizer_added_tokens);
  EXPECT_TRUE(describe_file(path_).model->has_tokenizer);
  EXPECT_THAT(folder_.files(), testing::ElementsAre("model.h5"));
}

TEST_F(ModelSave, AConvertedKerasFileIsTheSameModel) {
  const Model keras = load_model(std::string(HEADSCOPE_TEST_DATA) + "/tiny_tf/tf_model.h5");
  save_model(keras, path_);
  expect_same_weights(keras, load_model(path_));
  // Hugging Face's layout [in, out], so that other programs can read it.
  EXPECT_EQ(hdf5::InputFile(path_).info("h.0.mlp.c_fc.weight").shape, (Shape{18, 72}));
}

TEST_F(ModelSave, AnAttentionOnlyModelStaysOne) {
  Model model = random_model(odd_config(), 9);
  model.W_E.reset();
  model.W_U.reset();
  model.config.tied_unembedding = true;
  for (LayerWeights& layer : model.layers) {
    layer.W_in.reset();
    layer.W_out.reset();
  }
  save_model(model, path_);
  const Model back = load_model(path_);
  expect_same_weights(model, back);
  EXPECT_FALSE(back.is_complete());
}

TEST_F(ModelSave, AFailureLeavesNoFile) {
  Model model = random_model(odd_config(), 9);
  model.layers[1].W_O.set_size(5, 6);
  EXPECT_THROW(save_model(model, path_), ShapeError);
  EXPECT_THAT(folder_.files(), testing::IsEmpty());
}

}  // namespace
}  // namespace headscope
