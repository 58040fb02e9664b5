#include "headscope/forward.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headscope/attention.hpp"
#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::message_of;
using test::Normal;
using test::random_weights;
using test::reference_run;
using test::relative_error;
using test::small_config;

// float32 rounding through a few layers; an indexing or formula error is orders of magnitude
// larger.

struct Recorder : LayerObserver {
  explicit Recorder(bool with_pattern = false) : with_pattern_(with_pattern) {}
  bool wants_pattern(Index) const override { return with_pattern_; }
  void observe_layer(const LayerView& view) override {
    resid_pre.push_back(view.resid_pre);
    resid_mid.push_back(view.resid_mid);
    resid_post.push_back(view.resid_post);
    attention_output.push_back(view.attention_output);
    qkv.push_back(view.qkv);
    z.push_back(view.z);
    pattern.push_back(view.pattern);
  }
  std::vector<Matrix> resid_pre, resid_mid, resid_post, attention_output, qkv, z;
  std::vector<Cube> pattern;

 private:
  bool with_pattern_;
};

class ForwardOfEveryKind : public testing::TestWithParam<std::tuple<Activation, bool, Engine>> {};

TEST_P(ForwardOfEveryKind, AgreesWithDoublePrecisionAtEachRung) {
  ModelConfig config = small_config();
  config.activation = std::get<0>(GetParam());
  config.tied_unembedding = std::get<1>(GetParam());
  const Model model = random_weights(config, 1);
  const TokenIds tokens = Normal(2).tokens(150, config.d_vocab);
  const auto reference = reference_run(model, tokens);
  const double tolerance = test::float32_tolerance;

  Forward forward(model, {{.passes = std::get<2>(GetParam())}});
  Recorder recorder;
  const Matrix resid_final = forward.run(tokens, {&recorder});
  for (Index l = 0; l < config.n_layer; ++l) {
    EXPECT_LT(relative_error(recorder.resid_pre[l], reference.resid_pre[l]), tolerance) << l;
    EXPECT_LT(relative_error(recorder.z[l], reference.z[l]), tolerance) << l;
    EXPECT_LT(relative_error(recorder.resid_mid[l], reference.resid_mid[l]), tolerance) << l;
  }
  EXPECT_LT(relative_error(resid_final, reference.resid_final), tolerance);
  EXPECT_LT(relative_error(forward.logits(resid_final), reference.logits), tolerance);
  const TokenLoss loss = forward.loss(resid_final, tokens);
  ASSERT_EQ(loss.nll.size(), tokens.size() - 1);
  for (Index t = 0; t + 1 < tokens.size(); ++t) {
    EXPECT_NEAR(loss.nll[t], reference.nll[t], tolerance * reference.nll[t]) << t;
    const bool correct = reference.logits.col(t).index_max() == static_cast<Index>(tokens[t + 1]);
    EXPECT_EQ(loss.correct[t] != 0, correct) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ForwardOfEveryKind,
                         testing::Combine(testing::ValuesIn(all_activations), testing::Bool(),
                                          testing::Values(Engine::float32, Engine::bfloat16_six)));

TEST(Forward, EngineIsThatOfManyTokensAlone) {
  const Model model = random_weights(small_config(), 1);
  for (const Index n_token : {40, 150}) {
    const TokenIds tokens = Normal(2).tokens(n_token, model.config.d_vocab);
    Forward sgemm(model), tiles(model, {{.passes = Engine::bfloat16_six}});
    EXPECT_EQ(test::same_values(sgemm.run(tokens), tiles.run(tokens)), n_token == 40);
  }
}

TEST(Forward, ObserversSeeOneConsistentLayer) {
  const Model model = random_weights(small_config(), 3);
  const TokenIds tokens = Normal(4).tokens(130, model.config.d_vocab);
  Forward forward(model);
  Recorder with(true), without;
  const Matrix resid_final = forward.run(tokens, {&with, &without});
  for (Index l = 0; l < model.config.n_layer; ++l) {
    EXPECT_LT(
        relative_error(with.resid_mid[l], Matrix(with.resid_pre[l] + with.attention_output[l])),
        test::rounding_tolerance);
    Matrix attention_output = model.layers[l].W_O * with.z[l];
    attention_output.each_col() += model.layers[l].b_O;
    EXPECT_LT(relative_error(attention_output, with.attention_output[l]), test::float32_tolerance);
    EXPECT_EQ(with.pattern[l].n_slices, model.config.n_head);
    for (Index h = 0; h < model.config.n_head; ++h) {
      const Index d = model.config.d_model, d_head = model.config.d_head();
      const Matrix V = with.qkv[l].rows(2 * d + h * d_head, 2 * d + (h + 1) * d_head - 1);
      const Matrix z = with.z[l].rows(h * d_head, (h + 1) * d_head - 1);
      EXPECT_LT(relative_error(Matrix(V * with.pattern[l].slice(h)), z), test::float32_tolerance);
    }
    const Matrix& before = l > 0 ? with.resid_post[l - 1] : with.resid_pre[0];
    EXPECT_TRUE(test::same_values(with.resid_pre[l], before));
  }
  EXPECT_TRUE(test::same_values(resid_final, with.resid_post.back()));
}

TEST(Forward, PatternsAreKeptOnlyWhenWanted) {
  const Model model = random_weights(small_config(), 3);
  Forward forward(model);
  Recorder recorder;
  forward.run(Normal(4).tokens(20, model.config.d_vocab), {&recorder});
  EXPECT_TRUE(recorder.pattern[0].is_empty());
}

TEST(Forward, LaterTokensDoNotChangeEarlierOnes) {
  const Model model = random_weights(small_config(), 10);
  const TokenIds tokens = Normal(11).tokens(140, model.config.d_vocab);
  Forward forward(model);
  const Matrix all = forward.run(tokens);
  const Matrix some = forward.run(std::span(tokens).first(77));
  EXPECT_LT(relative_error(some, Matrix(all.cols(0, 76))), test::rounding_tolerance);
}

TEST(Forward, BuffersServeDocumentsOfAnyLengthInAnyOrder) {
  const Model model = random_weights(small_config(), 12);
  Forward reused(model);
  for (const Index n_token : {30, 1, 160, 2, 64, 65}) {
    const TokenIds tokens = Normal(n_token).tokens(n_token, model.config.d_vocab);
    Forward fresh(model);
    const Matrix expected = fresh.run(tokens);
    // sgemm's rounding may depend on where its operands stand in memory.
    EXPECT_LT(relative_error(reused.run(tokens), expected), test::rounding_tolerance) << n_token;
  }
}

TEST(Forward, ThreadCountDoesNotChangeTheResult) {
  const Model model = random_weights(small_config(), 13);
  const TokenIds tokens = Normal(14).tokens(160, model.config.d_vocab);
  const int threads = blas::thread_count();
  Forward forward(model);
  blas::set_thread_count(1);
  const Matrix one = forward.run(tokens);
  const TokenLoss loss_one = forward.loss(one, tokens);
  blas::set_thread_count(3);
  const Matrix three = forward.run(tokens);
  const TokenLoss loss_three = forward.loss(three, tokens);
  blas::set_thread_count(threads);
  EXPECT_LT(relative_error(three, one), test::rounding_tolerance);
  EXPECT_NEAR(loss_three.sum(), loss_one.sum(), test::rounding_tolerance * loss_one.sum());
}

// The layer's other heads, run as a smaller attention, give what the layer writes without the head.
TEST(Forward, ZeroingAHeadsOutputWeightsIsRemovingTheHead) {
  const Model model = random_weights(small_config(), 15);
  const TokenIds tokens = Normal(16).tokens(80, model.config.d_vocab);
  const Index head = 2, d_head = model.config.d_head(), d = model.config.d_model;
  const Index first = head * d_head, last = first + d_head - 1;
  Model zeroed = model;
  zeroed.layers[0].W_O.cols(first, last).zeros();
  Recorder recorder;
  Forward(zeroed).run(tokens, {&recorder});

  Matrix qkv = recorder.qkv[0], W_O = model.layers[0].W_O, z(d - d_head, tokens.size());
  for (const Index part : {2, 1, 0}) qkv.shed_rows(part * d + first, part * d + last);
  W_O.shed_cols(first, last);
  causal_attention(qkv, model.config.n_head - 1, model.config.score_scale(0), z);
  Matrix expected = W_O * z;
  expected.each_col() += model.layers[0].b_O;
  EXPECT_LT(relative_error(recorder.attention_output[0], expected), test::float32_tolerance);
}

TEST(Forward, OneTokenPredictsNothing) {
  const Model model = random_weights(small_config(), 17);
  Forward forward(model);
  const TokenIds tokens = {5};
  EXPECT_TRUE(forward.loss(forward.run(tokens), tokens).nll.empty());
}

TEST(Forward, SaysWhatIsWrongWithTokens) {
  const Model model = random_weights(small_config(), 18);
  Forward forward(model);
  EXPECT_EQ(message_of<ShapeError>([&] { forward.run(TokenIds()); }),
            "tokens: expected at least 1, got 0");
  const TokenIds long_document(161, 0), outside = {3, 1500}, negative = {-1};
  EXPECT_EQ(message_of<ShapeError>([&] { forward.run(long_document); }),
            "tokens: expected at most 160, got 161");
  EXPECT_EQ(message_of<ShapeError>([&] { forward.run(outside); }),
            "token: expected an id below 1500, got 1500");
  EXPECT_EQ(message_of<ShapeError>([&] { forward.run(negative); }),
            "token: expected an id below 1500, got -1");
}

TEST(Forward, SaysWhatIsWrongWithAResidualStream) {
  const Model model = random_weights(small_config(), 19);
  Forward forward(model);
  const Matrix narrow(31, 3, arma::fill::zeros), longer(32, 5, arma::fill::zeros);
  const TokenIds tokens = {1, 2, 3};
  EXPECT_EQ(message_of<ShapeError>([&] { forward.loss(narrow, tokens); }),
            "residual stream rows: expected 32, got 31");
  EXPECT_EQ(message_of<ShapeError>([&] { forward.loss(longer, tokens); }),
            "residual stream columns: expected 3, got 5");
}

TEST(Forward, SaysWhereActivationsOverflow) {
  Model model = random_weights(small_config(), 19);
  model.path = "model.h5";
  model.layers[1].W_QKV *= 1e22F;
  Forward forward(model);
  const TokenIds tokens = {1, 2, 3};
  EXPECT_THAT(message_of<DataError>([&] { forward.run(tokens); }),
              testing::StartsWith("model.h5:layer 1: expected finite activations, got NaN"));
}

TEST(Forward, RefusesAnAttentionOnlyModel) {
  Model model = random_weights(small_config(), 20);
  model.W_E.reset();
  EXPECT_EQ(message_of<ShapeError>([&] { Forward forward(model); }),
            "model: expected token embedding and MLP weights, got attention weights only");
}

// Compares every step with Hugging Face in float64; the first step that fails locates the error.
TEST(ForwardGolden, AgreesWithHuggingFaceAtEachRung) {
  const hdf5::InputFile file(test::data_path("forward_golden.h5"));
  const Model model = load_model(test::data_path("tiny_flat/float64.h5"));
  const Index d = model.config.d_model, d_head = model.config.d_head();
  Forward forward(model);
  for (const int document : {0, 1, 2}) {
    const std::string group = "documents/" + std::to_string(document) + "/";
    const TokenIds tokens = test::read_tokens(file, group + "tokens");
    Recorder recorder(true);
    const Matrix resid_final = forward.run(tokens, {&recorder});
    const auto expect_layers = [&](const char* name, const std::vector<Matrix>& values) {
      const arma::cube expected = test::read_slices(file, group + name, 1);
      ASSERT_EQ(expected.n_slices, values.size());
      for (Index l = 0; l < values.size(); ++l) {
        EXPECT_LT(relative_error(values[l], expected.slice(l)), test::float32_tolerance)
            << group << name << l;
      }
    };
    expect_layers("resid_pre", recorder.resid_pre);
    expect_layers("attention_output", recorder.attention_output);
    expect_layers("resid_mid", recorder.resid_mid);
    const auto expect_heads = [&](const char* name, const std::vector<Matrix>& values, Index row) {
      const arma::cube expected = test::read_slices(file, group + name, 2);
      for (Index unit = 0; unit < expected.n_slices; ++unit) {
        const Index first = row + unit % model.config.n_head * d_head;
        const Matrix head = values[unit / model.config.n_head].rows(first, first + d_head - 1);
        EXPECT_LT(relative_error(head, expected.slice(unit)), test::float32_tolerance)
            << group << name << unit;
      }
    };
    expect_heads("q", recorder.qkv, 0);
    expect_heads("k", recorder.qkv, d);
    expect_heads("v", recorder.qkv, 2 * d);
    expect_heads("z", recorder.z, 0);
    const arma::cube pattern = test::read_slices(file, group + "pattern", 2);
    const arma::cube head_output = test::read_slices(file, group + "head_output", 2);
    for (Index unit = 0; unit < pattern.n_slices; ++unit) {
      const Index l = unit / model.config.n_head, h = unit % model.config.n_head;
      EXPECT_LT(relative_error(recorder.pattern[l].slice(h), pattern.slice(unit)),
                test::float32_tolerance);
      const Matrix output = model.layers[l].W_O.cols(h * d_head, (h + 1) * d_head - 1) *
                            recorder.z[l].rows(h * d_head, (h + 1) * d_head - 1);
      EXPECT_LT(relative_error(output, head_output.slice(unit)), test::float32_tolerance);
    }
    EXPECT_LT(relative_error(resid_final, test::read_matrix(file, group + "resid_final")),
              test::float32_tolerance);
  }
}

// The model scales its scores by layer.
TEST(ForwardGolden, PatternsAndLossesOfScaledScoresAgreeWithHuggingFace) {
  const hdf5::InputFile file(test::data_path("hub_golden.h5"));
  const Model model = load_model(test::data_path("hub/snapshot"));
  Forward forward(model);
  for (const std::string document : {"0", "1"}) {
    const std::string group = "documents/" + document + "/";
    const TokenIds tokens = test::read_tokens(file, group + "tokens");
    Recorder recorder(true);
    const Matrix resid_final = forward.run(tokens, {&recorder});
    const arma::cube pattern = test::read_slices(file, group + "pattern", 2);
    ASSERT_EQ(pattern.n_slices, 6U);
    for (Index unit = 0; unit < pattern.n_slices; ++unit) {
      EXPECT_LT(relative_error(recorder.pattern[unit / 2].slice(unit % 2), pattern.slice(unit)),
                test::float32_tolerance)
          << group << unit;
    }
    const auto nll = file.read_reals(group + "nll").values;
    const TokenLoss loss = forward.loss(resid_final, tokens);
    ASSERT_EQ(loss.nll.size(), nll.size());
    for (std::size_t t = 0; t < nll.size(); ++t) {
      EXPECT_NEAR(loss.nll[t], nll[t], test::float32_tolerance * nll[t]) << group << t;
    }
  }
}

void expect_losses(const Model& model, const hdf5::InputFile& file, const std::string& group) {
  Forward forward(model);
  for (const std::string document : {"0", "1", "2", "3"}) {
    const TokenIds tokens = test::read_tokens(file, "documents/" + document + "/tokens");
    const std::string prefix = group + "/" + document + "/";
    const Matrix resid_final = forward.run(tokens);
    if (file.has(prefix + "logits")) {
      EXPECT_LT(
          relative_error(forward.logits(resid_final), test::read_matrix(file, prefix + "logits")),
          test::float32_tolerance)
          << prefix;
    }
    const TokenLoss loss = forward.loss(resid_final, tokens);
    if (tokens.size() < 2) {
      EXPECT_TRUE(loss.nll.empty());
      continue;
    }
    const auto nll = file.read_reals(prefix + "nll").values;
    ASSERT_EQ(loss.nll.size(), nll.size());
    for (std::size_t t = 0; t < nll.size(); ++t) {
      EXPECT_NEAR(loss.nll[t], nll[t], test::float32_tolerance * nll[t]) << prefix << t;
    }
    const double mean = loss.sum() / static_cast<double>(nll.size());
    const double expected = test::read_scalar(file, prefix + "loss");
    EXPECT_NEAR(mean, expected, test::float32_tolerance * expected) << prefix;
  }
}

TEST(ForwardGolden, LogitsAndLossesAgreeWithHuggingFaceForEveryVariant) {
  const hdf5::InputFile file(test::data_path("forward_golden.h5"));
  Model model = load_model(test::data_path("tiny_flat/float64.h5"));
  expect_losses(model, file, "documents");
  for (const Activation activation :
       {Activation::gelu, Activation::relu, Activation::silu, Activation::quick_gelu}) {
    model.config.activation = activation;
    expect_losses(model, file, "variants/" + std::string(activation_name(activation)));
  }
  model.config.activation = Activation::gelu_new;
  model.config.scale_by_width = false;
  expect_losses(model, file, "variants/unscaled");
  model.config.scale_by_width = true;
  model.config.layer_norm_epsilon = 0.01;
  expect_losses(model, file, "variants/epsilon");
  expect_losses(load_model(test::data_path("tiny_safetensors_untied/model.safetensors")), file,
                "variants/untied");
  expect_losses(load_model(test::data_path("tiny_flat/untied_bias.h5")), file,
                "variants/untied_bias");
  expect_losses(load_model(test::data_path("tiny_safetensors_pruned/model.safetensors")), file,
                "variants/pruned");
}

}  // namespace
}  // namespace headscope
