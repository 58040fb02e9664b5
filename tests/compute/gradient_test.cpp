#include "headscope/gradient.hpp"

#include <gtest/gtest.h>

#include "compute/activations.hpp"
#include "headscope/ablation.hpp"
#include "headscope/error.hpp"
#include "headscope/forward.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::mean_of;
using test::Normal;
using test::random_weights;
using test::reference_run;
using test::small_config;

struct Recorded {
  std::vector<Index> order;
  std::vector<Matrix> z, dz;
  TokenLoss loss;
};

Recorded record(HeadGradient& gradient, const Model& model, const TokenIds& tokens,
                const ComputeContext& context = {}) {
  Recorded recorded;
  recorded.z.resize(model.config.n_layer);
  recorded.dz.resize(model.config.n_layer);
  Activations clean = test::activations_of(model, tokens, context);
  recorded.loss = gradient.run(clean, tokens, [&](const LayerGradient& layer) {
    recorded.order.push_back(layer.layer);
    recorded.z[layer.layer] = layer.z;
    recorded.dz[layer.layer] = layer.dz;
  });
  return recorded;
}

Recorded record(const Model& model, const TokenIds& tokens, const ComputeContext& context = {}) {
  HeadGradient gradient(model, context);
  return record(gradient, model, tokens, context);
}

class GradientOfEveryKind : public testing::TestWithParam<std::tuple<Activation, bool, Engine>> {};

// Central differences of the double-precision loss along random directions in each layer's z.
TEST_P(GradientOfEveryKind, AgreesWithFiniteDifferences) {
  ModelConfig config = small_config();
  config.d_vocab = 1030;
  config.d_mlp = 48;
  config.activation = std::get<0>(GetParam());
  config.tied_unembedding = std::get<1>(GetParam());
  const Model model = random_weights(config, 21);
  const TokenIds tokens = Normal(22).tokens(140, config.d_vocab);
  const Engine backward = std::get<2>(GetParam());
  const Engine passes = backward == Engine::float32 ? backward : Engine::bfloat16_six;
  const Recorded recorded = record(model, tokens, {{.passes = passes, .gradients = backward}});
  EXPECT_EQ(recorded.order, (std::vector<Index>{2, 1, 0}));

  // Balances the truncation error (third derivative) against rounding in double. A small step
  // rarely crosses a corner of ReLU.
  const double step = config.activation == Activation::relu ? 1e-7 : 1e-5;
  // Three bfloat16 products err most, by 5e-6 of the gradient.
  constexpr double tolerance = 1e-5;
  for (Index l = 0; l < config.n_layer; ++l) {
    for (std::uint64_t trial = 0; trial < 2; ++trial) {
      // First along the gradient, then in a random direction.
      const arma::mat dz = test::widen(recorded.dz[l]);
      const arma::mat direction =
          trial == 0 ? arma::mat(dz / arma::norm(dz, "fro"))
                     : test::widen(Normal(30 + trial).matrix(config.d_model, tokens.size()));
      const auto loss_at = [&](double distance) {
        return mean_of(reference_run(model, tokens, [&](Index layer, arma::mat& z) {
                         if (layer == l) z += distance * direction;
                       }).nll);
      };
      const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
      const double predicted = arma::accu(dz % direction);
      const double size = arma::norm(dz, "fro") * (trial == 0 ? 1.0 : 10.0);
      EXPECT_NEAR(predicted, difference, tolerance * size) << "layer " << l << " trial " << trial;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GradientOfEveryKind,
                         testing::Combine(testing::ValuesIn(all_activations), testing::Bool(),
                                          testing::Values(Engine::float32, Engine::bfloat16_six,
                                                          Engine::bfloat16_three)));

const ComputeContext six_products({.passes = Engine::bfloat16_six,
                                   .gradients = Engine::bfloat16_six});

TEST(HeadGradient, EngineIsThatOfManyTokensAlone) {
  const Model model = random_weights(small_config(), 23);
  for (const Index n_token : {40, 150}) {
    const TokenIds tokens = Normal(24).tokens(n_token, model.config.d_vocab);
    const Recorded expected = record(model, tokens), got = record(model, tokens, six_products);
    EXPECT_EQ(test::same_values(expected.dz[0], got.dz[0]), n_token == 40);
  }
}

TEST(HeadGradient, EngineOfTheGradientLeavesTheForwardPassAsItIs) {
  const Model model = random_weights(small_config(), 23);
  const TokenIds tokens = Normal(24).tokens(150, model.config.d_vocab);
  const Recorded expected = record(model, tokens, six_products),
                 got = record(
                     model, tokens,
                     {{.passes = Engine::bfloat16_six, .gradients = Engine::bfloat16_three}});
  EXPECT_EQ(got.loss.nll, expected.loss.nll);
  for (Index l = 0; l < model.config.n_layer; ++l) {
    EXPECT_TRUE(test::same_values(got.z[l], expected.z[l]));
    EXPECT_FALSE(test::same_values(got.dz[l], expected.dz[l]));
    // Several products, each of which errs by up to 1.5e-5 (weight_product_test.cpp).
    EXPECT_LT(test::relative_error(got.dz[l], test::widen(expected.dz[l])), 5e-5);
  }
}

TEST(HeadGradient, OfKeptProjectionsIsThatOfRecomputedOnes) {
  const Model model = random_weights(small_config(), 23);
  Forward forward(model);
  HeadAblation ablation(model);
  HeadGradient gradient(model);
  for (const Index n_token : {90, 40}) {
    const TokenIds tokens = Normal(n_token).tokens(n_token, model.config.d_vocab);
    std::vector<Matrix> expected;
    for (const bool keep : {false, true, false}) {
      ablation.keep_projections(keep);
      forward.run(tokens, {&ablation});
      EXPECT_EQ(ablation.activations().has_projections(), keep);
      std::vector<Matrix> dz(model.config.n_layer);
      gradient.run(ablation.activations(), tokens,
                   [&](const LayerGradient& view) { dz[view.layer] = view.dz; });
      if (expected.empty()) expected = dz;
      for (Index l = 0; l < model.config.n_layer; ++l) {
        EXPECT_TRUE(test::same_values(dz[l], expected[l])) << keep << " " << l;
      }
    }
  }
}

TEST(Forward, TakesMemoryForProjectionsFromOneObserverAlone) {
  const Model model = random_weights(small_config(), 23);
  HeadAblation first(model), second(model);
  first.keep_projections(true);
  LayerObserver* const observers[] = {&first, &second};
  const TokenIds tokens = {1, 2, 3};
  EXPECT_NO_THROW(Forward(model).run(tokens, observers));
  second.keep_projections(true);
  EXPECT_THROW(Forward(model).run(tokens, observers), std::logic_error);
}

TEST(HeadGradient, ReturnsTheLossAndActivationsOfTheForwardPass) {
  const Model model = random_weights(small_config(), 23);
  const TokenIds tokens = Normal(24).tokens(90, model.config.d_vocab);
  const Recorded recorded = record(model, tokens);
  const auto reference = reference_run(model, tokens);
  ASSERT_EQ(recorded.loss.nll.size(), tokens.size() - 1);
  for (Index t = 0; t + 1 < tokens.size(); ++t) {
    EXPECT_NEAR(recorded.loss.nll[t], reference.nll[t], test::float32_tolerance * reference.nll[t]);
  }
  for (Index l = 0; l < model.config.n_layer; ++l) {
    EXPECT_LT(test::relative_error(recorded.z[l], reference.z[l]), test::float32_tolerance);
  }
}

TEST(HeadGradient, DotProductsWithZAreThoseOfEachHeadAndToken) {
  Normal normal(25);
  const Matrix z = normal.matrix(21, 11), dz = normal.matrix(21, 11);
  const arma::mat products = z_dot_gradient({0, z, dz}, 3);
  ASSERT_EQ(arma::size(products), arma::size(3, 11));
  for (Index h = 0; h < 3; ++h) {
    for (Index t = 0; t < 11; ++t) {
      const auto part = [&](const Matrix& of) {
        return test::widen(Matrix(of.submat(h * 7, t, arma::size(7, 1))));
      };
      EXPECT_NEAR(products(h, t), arma::dot(part(z), part(dz)), test::double_rounding);
    }
  }
  EXPECT_THROW(z_dot_gradient({0, z, dz}, 2), ShapeError);
  EXPECT_THROW(z_dot_gradient({0, z, dz}, 0), ShapeError);
  const Matrix shorter = dz.cols(0, 9);
  EXPECT_THROW(z_dot_gradient({0, z, shorter}, 3), ShapeError);
}

// The last position predicts no token, and no later position attends to it.
TEST(HeadGradient, IsZeroAtTheLastToken) {
  const Model model = random_weights(small_config(), 25);
  const Recorded recorded = record(model, Normal(26).tokens(66, model.config.d_vocab));
  for (const Matrix& dz : recorded.dz) {
    EXPECT_EQ(test::largest_size(Matrix(dz.col(65))), 0);
    EXPECT_GT(test::largest_size(Matrix(dz.col(64))), 0);
  }
}

TEST(HeadGradient, BuffersServeDocumentsOfAnyLengthInAnyOrder) {
  const Model model = random_weights(small_config(), 27);
  HeadGradient reused(model);
  for (const Index n_token : {40, 130, 7}) {
    const TokenIds tokens = Normal(n_token).tokens(n_token, model.config.d_vocab);
    const Recorded expected = record(model, tokens), again = record(reused, model, tokens);
    for (Index l = 0; l < model.config.n_layer; ++l) {
      // sgemm's rounding may depend on where its operands stand in memory.
      EXPECT_LT(test::relative_error(again.dz[l], expected.dz[l]), test::rounding_tolerance);
    }
  }
}

TEST(HeadGradient, OfADocumentIsThatOfItsMeanLoss) {
  const Model model = random_weights(small_config(), 29);
  const TokenIds tokens = Normal(30).tokens(40, model.config.d_vocab);
  const Recorded expected = record(model, tokens);
  const SequenceBatch batch(tokens);
  Activations clean = test::activations_of(model, batch);
  HeadGradient gradient(model);
  const auto is_equal = [&](const LayerGradient& layer) {
    EXPECT_TRUE(test::same_values(layer.dz, expected.dz[layer.layer]));
  };
  EXPECT_EQ(gradient.run(clean, batch, std::vector<float>(39, 1 / 39.0F), is_equal).nll,
            expected.loss.nll);
  const SequenceBatch longer(Normal(30).tokens(41, model.config.d_vocab));
  EXPECT_THROW(gradient.run(clean, longer, std::vector<float>(40), is_equal), ShapeError);
}

TEST(HeadGradient, OneTokenHasNoGradient) {
  const Model model = random_weights(small_config(), 28);
  const Recorded recorded = record(model, {3});
  EXPECT_TRUE(recorded.loss.nll.empty());
  for (const Matrix& dz : recorded.dz) EXPECT_EQ(test::largest_size(dz), 0);
}

TEST(HeadGradient, AgreesWithPyTorchAutograd) {
  const hdf5::InputFile file(test::data_path("gradient_golden.h5"));
  const Model model = load_model(test::data_path("tiny_flat/float64.h5"));
  for (const std::string document : {"0", "1", "2", "3"}) {
    const std::string group = "documents/" + document + "/";
    const Recorded recorded = record(model, test::read_tokens(file, group + "tokens"));
    const double loss = test::read_scalar(file, group + "loss");
    EXPECT_NEAR(mean_of(recorded.loss.nll), loss, test::float32_tolerance * loss);
    const arma::cube z = test::read_slices(file, group + "z", 1);
    const arma::cube dz = test::read_slices(file, group + "grad_z", 1);
    for (Index l = 0; l < model.config.n_layer; ++l) {
      EXPECT_LT(test::relative_error(recorded.z[l], z.slice(l)), test::float32_tolerance)
          << group << l;
      EXPECT_LT(test::relative_error(recorded.dz[l], dz.slice(l)), test::float32_tolerance)
          << group << l;
    }
  }
}

// The model scales its scores by layer.
TEST(HeadGradient, OfScaledScoresAgreesWithPyTorchAutograd) {
  const hdf5::InputFile file(test::data_path("hub_golden.h5"));
  const Model model = load_model(test::data_path("hub/snapshot"));
  for (const std::string document : {"0", "1"}) {
    const std::string group = "documents/" + document + "/";
    const Recorded recorded = record(model, test::read_tokens(file, group + "tokens"));
    const arma::cube dz = test::read_slices(file, group + "grad_z", 1);
    for (Index l = 0; l < model.config.n_layer; ++l) {
      EXPECT_LT(test::relative_error(recorded.dz[l], dz.slice(l)), test::float32_tolerance)
          << group << l;
    }
  }
}

}  // namespace
}  // namespace headscope
