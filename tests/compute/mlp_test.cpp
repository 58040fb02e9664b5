#include "compute/mlp.hpp"

#include <gtest/gtest.h>

#include "support/double_reference.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::reference_mlp;
using test::reference_norm;
using test::relative_error;
using test::widen;

// How far the products of an engine may be off, relative to the largest element of the result.
struct DifferenceCase {
  Engine engine;
  bool is_gated;
  double error;
};

std::vector<DifferenceCase> difference_cases() {
  std::vector<DifferenceCase> cases;
  for (const bool is_gated : {false, true}) {
    cases.push_back({Engine::float32, is_gated, 2e-6});
    cases.push_back({Engine::bfloat16_six, is_gated, 2e-6});
    cases.push_back({Engine::bfloat16_three, is_gated, 3e-5});
    cases.push_back({Engine::bfloat16_one, is_gated, 1e-2});
    cases.push_back({Engine::int16, is_gated, 1e-3});
  }
  return cases;
}

// Several blocks of hidden units, the last of them smaller.
class MlpDifferenceTest : public testing::TestWithParam<DifferenceCase> {
 protected:
  MlpDifferenceTest() {
    config_.d_mlp = 802;
    config_.gated_mlp = GetParam().is_gated;
    if (config_.gated_mlp) {
      config_.activation = Activation::silu;
      config_.norm = NormKind::rms_norm;
    }
    model_ = test::random_weights(config_, 3);
    clean_ = Normal(4).matrix(config_.d_model, n_token);
  }

  // Of so many variants, added in place and alone. @return the larger error, relative to the
  // largest element.
  double error(Index n_variant) {
    const LayerWeights& weights = model_.layers[0];
    Matrix D = Normal(5).matrix(config_.d_model, n_token * n_variant, 0.3F);
    const Matrix changed = arma::repmat(clean_, 1, n_variant) + D;
    const auto mlp_of = [&](const Matrix& X) {
      return reference_mlp(config_, weights,
                           reference_norm(config_, widen(X), weights.ln_2_gain, weights.ln_2_bias));
    };
    const arma::mat expected = mlp_of(changed) - arma::repmat(mlp_of(clean_), 1, n_variant),
                    expected_sum = expected + widen(D);
    const Products products = test::products(GetParam().engine), exact = test::products();
    MlpDifference mlp;
    mlp.set({config_, weights.ln_2_gain, weights.ln_2_bias}, {config_, weights}, clean_,
            {products, exact, exact, exact});
    Matrix alone(arma::size(D), arma::fill::value(7));
    mlp.compute(D, alone, false);
    mlp.compute(D, D, true);
    return std::max(relative_error(alone, expected), relative_error(D, expected_sum));
  }

  static constexpr Index n_token = 37;
  ModelConfig config_ = test::small_config();
  Model model_;
  Matrix clean_;
};

TEST_P(MlpDifferenceTest, EqualsDoublePrecisionForAnyNumberOfVariants) {
  for (const Index n_variant : {1, 9, 40}) EXPECT_LT(error(n_variant), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(Engines, MlpDifferenceTest, testing::ValuesIn(difference_cases()),
                         [](const auto& mlp) {
                           return test::label_of(mlp.param.engine) +
                                  (mlp.param.is_gated ? "_gated" : "");
                         });

}  // namespace
}  // namespace headscope
