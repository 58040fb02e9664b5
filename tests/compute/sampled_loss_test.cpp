#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/ablation.hpp"
#include "headscope/forward.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

class SampledLoss : public testing::Test {
 protected:
  std::vector<TokenLoss> losses(const VocabularySample& sample,
                                std::span<const HeadVariant> variants) const {
    return losses(model_, sample, variants);
  }

  std::vector<TokenLoss> losses(const Model& model, const VocabularySample& sample,
                                std::span<const HeadVariant> variants,
                                const Engines& engines = {}) const {
    HeadAblation ablation(model, engines, {.sample = sample});
    observe(ablation, model);
    return ablation.losses(tokens_, variants);
  }

  void observe(HeadAblation& ablation) const { observe(ablation, model_); }

  void observe(HeadAblation& ablation, const Model& model) const {
    Forward forward(model);
    forward.run(tokens_, {&ablation});
  }

  const Model model_ = test::random_weights(test::small_config(), 7);
  const TokenIds tokens_ = test::Normal(5).tokens(20, model_.config.d_vocab);
  const std::vector<HeadVariant> variants_{{0, {1}}, {1, {0, 2}}, {2, {3}}};
};

// The formula of the sample and the whole one round differently, each by about 6e-8 of a logit's
// difference, of which the largest is about 10.
TEST_F(SampledLoss, OfEveryEntryIsTheLoss) {
  const std::vector<TokenLoss> whole = losses({}, variants_),
                               sampled = losses({model_.config.d_vocab, 0}, variants_);
  for (std::size_t v = 0; v < whole.size(); ++v) {
    for (std::size_t i = 0; i < whole[v].nll.size(); ++i) {
      EXPECT_NEAR(sampled[v].nll[i], whole[v].nll[i], 5e-6);
    }
    EXPECT_EQ(sampled[v].correct, whole[v].correct);
  }
}

// Not even rounding takes the lead from an entry that is the largest: here every target is the
// model's choice, and nothing changes.
TEST_F(SampledLoss, ChoosesWhatTheModelChooses) {
  class Z : public LayerObserver {
   public:
    void observe_layer(const LayerView& view) override { z.push_back(view.z); }
    std::vector<Matrix> z;
  } clean;
  Forward forward(model_);
  forward.run(tokens_, {&clean});
  const std::vector<HeadVariant> unchanged{{1, {0, 1, 2, 3}, clean.z[1]}};
  SequenceBatch batch(tokens_);
  std::vector<TokenId> choices(batch.predictions.size());
  for (TokenId v = 0; v < static_cast<TokenId>(model_.config.d_vocab); ++v) {
    for (SequenceBatch::Prediction& prediction : batch.predictions) prediction.target = v;
    HeadAblation whole(model_);
    observe(whole);
    const TokenLoss loss = whole.losses(batch, unchanged)[0];
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (loss.correct[i] == 1) choices[i] = v;
    }
  }
  for (std::size_t i = 0; i < choices.size(); ++i) batch.predictions[i].target = choices[i];
  HeadAblation sampled(model_, {}, {.sample = {20, 20}});
  observe(sampled);
  const TokenLoss loss = sampled.losses(batch, unchanged)[0];
  EXPECT_EQ(std::ranges::count(loss.correct, 1), std::ssize(choices));
}

struct SampleError {
  Engine engine;
  double tolerance;
};

class SampledLossEngine : public SampledLoss, public testing::WithParamInterface<SampleError> {};

// Errors are of second order in the differences, a tenth of those above.
TEST_P(SampledLossEngine, OfEveryEntryIsTheLoss) {
  Model model = model_;
  for (LayerWeights& layer : model.layers) layer.W_O *= 0.1F;
  const VocabularySample every{model_.config.d_vocab, 0};
  const std::vector<TokenLoss> whole = losses(model, {}, variants_),
                               sampled =
                                   losses(model, every, variants_, {.logits = GetParam().engine});
  for (std::size_t v = 0; v < whole.size(); ++v) {
    for (std::size_t i = 0; i < whole[v].nll.size(); ++i) {
      EXPECT_NEAR(sampled[v].nll[i], whole[v].nll[i], GetParam().tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, SampledLossEngine,
                         testing::Values(SampleError{Engine::bfloat16_six, 2e-6},
                                         SampleError{Engine::bfloat16_three, 2e-6},
                                         SampleError{Engine::bfloat16_one, 2e-4},
                                         SampleError{Engine::int16, 2e-5}),
                         [](const auto& test) { return test::label_of(test.param.engine); });

// Heads that matter little, so that no loss is computed from all entries: the mean over many seeds
// is within four of its standard errors of the loss. The logarithm adds half the variance, float32
// rounding 5e-6 for each of 19 predictions.
TEST_F(SampledLoss, IsRightInTheMeanOverSeeds) {
  constexpr int n_seed = 100;
  Model model = model_;
  for (LayerWeights& layer : model.layers) layer.W_O *= 0.1F;
  const std::vector<TokenLoss> whole = losses(model, {}, variants_);
  std::vector<arma::vec> sums(variants_.size(), arma::vec(n_seed));
  for (int seed = 0; seed < n_seed; ++seed) {
    const std::vector<TokenLoss> sampled =
        losses(model, {40, 40, static_cast<std::uint64_t>(seed)}, variants_);
    for (std::size_t v = 0; v < sampled.size(); ++v) {
      sums[v](static_cast<arma::uword>(seed)) = sampled[v].sum();
    }
  }
  for (std::size_t v = 0; v < whole.size(); ++v) {
    const double spread = arma::stddev(sums[v]);
    EXPECT_GT(spread, 0);
    EXPECT_NEAR(arma::mean(sums[v]), whole[v].sum(),
                4 * spread / std::sqrt(n_seed) + spread * spread + 19 * 5e-6)
        << v;
  }
}

// The sum of clean stream and difference is rounded, by about 1e-6 of a loss near 10.
TEST_F(SampledLoss, IsComputedFromAllEntriesWhereLogitsRiseByMuch) {
  const Matrix far = 30 * test::Normal(3).matrix(model_.config.d_model, tokens_.size());
  const std::vector<HeadVariant> variants{{0, {0, 1, 2, 3}, far}, {2, {0, 1, 2, 3}, far}};
  const std::vector<TokenLoss> whole = losses({}, variants), sampled = losses({20, 20}, variants);
  for (std::size_t v = 0; v < whole.size(); ++v) {
    for (std::size_t i = 0; i < whole[v].nll.size(); ++i) {
      EXPECT_NEAR(sampled[v].nll[i], whole[v].nll[i],
                  test::float32_tolerance * std::max(1.0, whole[v].nll[i]));
    }
  }
}

TEST_F(SampledLoss, IsComputedFromAllEntriesWhereTheCleanModelIsCertain) {
  Model model = model_;
  model.ln_f_gain *= 60;
  const std::vector<TokenLoss> whole = losses(model, {}, variants_),
                               sampled = losses(model, {20, 20}, variants_);
  for (std::size_t v = 0; v < whole.size(); ++v) {
    for (std::size_t i = 0; i < whole[v].nll.size(); ++i) {
      EXPECT_NEAR(sampled[v].nll[i], whole[v].nll[i], 0.01 * std::max(1.0, whole[v].nll[i]));
    }
  }
}

TEST_F(SampledLoss, IsThatOfAblatedHeadsAlone) {
  HeadAblation sampled(model_, {}, {.sample = {20, 20}}), whole(model_);
  observe(sampled);
  observe(whole);
  EXPECT_TRUE(sampled.is_approximate());
  EXPECT_FALSE(whole.is_approximate());
  const SequenceBatch batch(tokens_);
  EXPECT_NE(sampled.losses(batch, variants_)[0].nll, whole.losses(batch, variants_)[0].nll);
  EXPECT_EQ(sampled.float32_losses(batch, variants_)[0].nll, whole.losses(batch, variants_)[0].nll);
  HeadMask mask(model_.config.n_head, model_.config.n_layer, arma::fill::ones);
  mask(1, 0) = 0;
  const std::vector<HeadMask> masks{mask};
  EXPECT_EQ(sampled.masked_losses(batch, masks)[0].nll, whole.masked_losses(batch, masks)[0].nll);
}

TEST(VocabularySample, IsOfLargeVocabulariesAndFastAlone) {
  const auto sample = [](Precision precision, Index d_vocab) {
    return ablation_precision(precision, Engine::float32, d_vocab, 0).sample;
  };
  for (const Precision precision : {Precision::float32, Precision::high}) {
    EXPECT_TRUE(sample(precision, 50257).is_whole());
  }
  EXPECT_TRUE(sample(Precision::fast, 4095).is_whole());
  EXPECT_EQ(sample(Precision::fast, 4096).n_probable, 256);
  const VocabularySample gpt2 = sample(Precision::fast, 50257);
  EXPECT_EQ(gpt2.n_probable + gpt2.n_drawn, 2010);
}

}  // namespace
}  // namespace headscope
