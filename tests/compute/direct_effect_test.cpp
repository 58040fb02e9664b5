#include "headscope/direct_effect.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headscope/error.hpp"
#include "headscope/forward.hpp"
#include "support/double_reference.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::random_weights;
using test::small_config;
using test::widen;

/// Direct effects of every part of the model on the given differences of logits, undivided.
class PartObserver : public LayerObserver {
 public:
  PartObserver(const Model& model, const Matrix& directions)
      : model_(model), directions_(directions) {}

  void observe_layer(const LayerView& view) override {
    const Index n = directions_.n_cols;
    const auto first = [n](const Matrix& values) { return blas::ConstView(values).cols(0, n); };
    if (view.layer == 0) rest.push_back(direct_effects(first(view.resid_pre), directions_));
    heads.push_back(head_direct_effects(model_.layers[view.layer].W_O, first(view.z), directions_,
                                        model_.config.n_head));
    const Matrix b_O = arma::repmat(model_.layers[view.layer].b_O, 1, n);
    rest.push_back(direct_effects(b_O, directions_));
    const Matrix mlp = view.resid_post - view.resid_mid;
    rest.push_back(direct_effects(first(mlp), directions_));
  }

  std::vector<arma::mat> heads;           ///< per layer, n_head x n
  std::vector<std::vector<double>> rest;  ///< embeddings, and per layer b_O and the MLP

 private:
  const Model& model_;
  const Matrix& directions_;
};

Model untied_model() {
  ModelConfig config = small_config();
  config.tied_unembedding = false;
  return random_weights(config, 41);
}

TEST(DirectEffect, PartsAddUpToTheDifferenceOfTwoLogits) {
  const Model model = untied_model();
  const TokenIds tokens = Normal(46).tokens(20, model.config.d_vocab),
                 a = Normal(47).tokens(20, model.config.d_vocab),
                 b = Normal(48).tokens(20, model.config.d_vocab);
  const LogitDirections difference = LogitAttribution(model).differences(a, b);
  PartObserver parts(model, difference.directions);
  Forward forward(model);
  const std::vector<double> scales = final_scales(model, forward.run(tokens, {&parts}));
  const arma::mat logits = test::reference_run(model, tokens).logits;
  for (Index t = 0; t < tokens.size(); ++t) {
    double sum = 0;
    for (const arma::mat& layer : parts.heads) sum += arma::accu(layer.col(t));
    for (const std::vector<double>& part : parts.rest) sum += part[t];
    // Rounding of float32 products, for logits of about 10.
    EXPECT_NEAR(sum / scales[t] + difference.constant[t], logits(a[t], t) - logits(b[t], t), 2e-5);
  }
}

// The difference of logits with and without a head's output, mean and scale of ln_f held fixed.
TEST(DirectEffect, OfAHeadIsTheChangeOfTheLogitsWithoutItAtAFixedScale) {
  const Model model = untied_model();
  const TokenIds tokens = Normal(43).tokens(12, model.config.d_vocab);
  const TokenIds a = Normal(44).tokens(12, model.config.d_vocab),
                 b = Normal(45).tokens(12, model.config.d_vocab);
  const LogitDirections difference = LogitAttribution(model).differences(a, b);
  PartObserver parts(model, difference.directions);
  Forward forward(model);
  forward.run(tokens, {&parts});

  const test::ReferenceRun reference = test::reference_run(model, tokens);
  const Index d_head = model.config.d_head();
  for (Index layer = 0; layer < model.config.n_layer; ++layer) {
    for (Index head = 0; head < model.config.n_head; ++head) {
      const auto rows = arma::span(head * d_head, (head + 1) * d_head - 1);
      const arma::mat written = widen(model.layers[layer].W_O).cols(rows.a, rows.b) *
                                arma::mat(reference.z[layer].rows(rows.a, rows.b));
      for (Index t = 0; t < tokens.size(); ++t) {
        const arma::vec x = reference.resid_final.col(t), y = written.col(t);
        const double scale = std::sqrt(arma::var(x, 1) + model.config.layer_norm_epsilon);
        const arma::vec without = (x - y) - arma::mean(x - y), with = x - arma::mean(x);
        const arma::vec u = widen(model.W_U).col(a[t]) - widen(model.W_U).col(b[t]);
        const double change = arma::dot(widen(model.ln_f_gain) % (with - without) / scale, u);
        // Rounding of float32 products, for effects of about 1.
        EXPECT_NEAR(parts.heads[layer](head, t) / scale, change, 5e-6);
      }
    }
  }
}

TEST(DirectEffect, ADocumentOfOneTokenHasNoDirections) {
  const Model model = untied_model();
  const TokenIds one{3};
  EXPECT_EQ(LogitAttribution(model).next_tokens(one).directions.n_cols, 0u);
}

TEST(DirectEffect, RefusesWhatDoesNotFit) {
  const Model model = untied_model();
  const LogitAttribution attribution(model);
  const TokenIds one{3}, two{3, 4}, outside{3, 1500};
  EXPECT_EQ(test::message_of([&] { attribution.differences(two, one); }),
            "tokens of the second side: expected 2, got 1");
  EXPECT_EQ(test::message_of([&] { attribution.next_tokens(outside); }),
            "token id: expected 0 to 1499, got 1500");
  EXPECT_EQ(test::message_of([&] { direct_effects(Matrix(4, 2), Matrix(4, 3)); }),
            "columns of the directions: expected 2, got 3");
}

}  // namespace
}  // namespace headscope
