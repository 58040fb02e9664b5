#include "headscope/sequence_batch.hpp"

#include <gtest/gtest.h>

#include "compute/sequence_batch.hpp"
#include "headscope/ablation.hpp"
#include "headscope/gradient.hpp"
#include "support/double_reference.hpp"
#include "support/message_of.hpp"
#include "support/products.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::message_of;
using test::Normal;
using test::reference_run;

// float32 against double precision: a few units in the last place of each layer's sums.

struct Pair {
  TokenIds a, b;
  Index n_shared;
};

/// Pairs of unequal length: one differs from the second token on, one longer than a block of
/// queries, one whose first sequence begins the second.
std::vector<Pair> some_pairs(Index d_vocab) {
  std::vector<Pair> pairs;
  Normal random(31);
  const auto add = [&](Index n_shared, Index n_a, Index n_b) {
    const TokenIds shared = random.tokens(n_shared, d_vocab);
    Pair pair{shared, shared, n_shared};
    for (const TokenId id : random.tokens(n_a, d_vocab)) pair.a.push_back(id);
    for (const TokenId id : random.tokens(n_b, d_vocab)) pair.b.push_back(id);
    pairs.push_back(pair);
  };
  add(1, 6, 4);
  add(70, 81, 67);
  add(9, 0, 3);
  add(12, 1, 1);
  return pairs;
}

/// Scores are scaled by layer: the attention of batches, ablation and gradient must know it too.
ModelConfig scaled_config() {
  ModelConfig config = test::small_config();
  config.scale_by_inverse_layer = true;
  return config;
}

class SequenceBatchTest : public testing::TestWithParam<bool> {
 protected:
  SequenceBatchTest() {
    for (const Pair& pair : pairs_) batch_.add_pair(pair.a, pair.b, pair.n_shared, GetParam());
  }

  using ChangeZ = std::function<void(Index, arma::mat&)>;
  /// The losses of the batch's predictions, each sequence run by itself.
  std::vector<double> losses_apart(const ChangeZ& change = [](Index, arma::mat&) {}) const {
    std::vector<double> losses;
    for (const Pair& pair : pairs_) {
      for (const TokenIds& sequence : {pair.a, pair.b}) {
        const std::vector<double> nll = reference_run(model_, sequence, change).nll;
        losses.insert(losses.end(), nll.begin() + static_cast<std::ptrdiff_t>(pair.n_shared - 1),
                      nll.end());
      }
    }
    return losses;
  }
  void expect_losses(const TokenLoss& loss, const std::vector<double>& expected) const {
    ASSERT_EQ(loss.nll.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(loss.nll[i], expected[i], test::float32_tolerance * expected[i])
          << "prediction " << i;
    }
  }

  const Model model_ = test::random_weights(scaled_config(), 30);
  const std::vector<Pair> pairs_ = some_pairs(model_.config.d_vocab);
  SequenceBatch batch_;
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutLastTokens, SequenceBatchTest, testing::Bool());

TEST_P(SequenceBatchTest, PredictsEachTokenAsItsSequenceByItself) {
  Forward forward(model_);
  const Matrix resid_final = forward.run(batch_);
  expect_losses(forward.loss(resid_final, batch_), losses_apart());
}

TEST_P(SequenceBatchTest, SharedTokensAndLastTokensThatPredictNothingTakeNoColumns) {
  Index n_column = 0;
  for (const Pair& pair : pairs_) {
    for (const TokenIds& sequence : {pair.a, pair.b}) {
      const Index own = sequence.size() - pair.n_shared;
      n_column += GetParam() || own == 0 ? own : own - 1;
    }
    n_column += pair.n_shared;
  }
  EXPECT_EQ(batch_.n_column(), n_column);
}

TEST_P(SequenceBatchTest, AblatingAHeadEqualsANaiveMaskedForwardOfEachSequence) {
  const Index d_head = model_.config.d_head();
  HeadAblation ablation(model_);
  Forward(model_).run(batch_, {&ablation});
  const Matrix replacement(model_.config.d_model, batch_.n_column(), arma::fill::value(0.3F));
  std::vector<HeadVariant> variants;
  for (Index l = 0; l < model_.config.n_layer; ++l) {
    variants.push_back({l, {1}});
    variants.push_back({l, {3}, replacement});
  }
  const std::vector<TokenLoss> losses = ablation.losses(batch_, variants);
  ASSERT_EQ(losses.size(), variants.size());
  for (std::size_t v = 0; v < variants.size(); ++v) {
    expect_losses(losses[v], losses_apart([&](Index layer, arma::mat& z) {
                    if (layer != variants[v].layer) return;
                    const Index h = variants[v].heads.front();
                    z.rows(h * d_head, (h + 1) * d_head - 1).fill(v % 2 == 0 ? 0.0 : 0.3);
                  }));
  }
  expect_losses(ablation.clean_loss(batch_), losses_apart());
}

// The gradient of documents is checked against finite differences and autograd.
TEST_P(SequenceBatchTest, GradientOfASharedColumnIsTheSumOverItsSequences) {
  HeadGradient gradient(model_);
  const auto gradients_of = [&](const SequenceBatch& batch, const std::vector<float>& weights) {
    std::vector<Matrix> dz(model_.config.n_layer);
    Activations clean = test::activations_of(model_, batch);
    gradient.run(clean, batch, weights,
                 [&](const LayerGradient& layer) { dz[layer.layer] = layer.dz; });
    return dz;
  };
  const std::vector<float> all = [&] {
    const Vector random = Normal(32).vector(batch_.predictions.size());
    return std::vector<float>(random.begin(), random.end());
  }();
  const std::vector<Matrix> packed = gradients_of(batch_, all);

  Index first = 0, next = 0;
  for (const Pair& pair : pairs_) {
    const auto of_sequence = [&](const TokenIds& sequence) {
      const SequenceBatch apart(sequence);
      std::vector<float> weights(apart.predictions.size(), 0.0F);
      for (Index t = pair.n_shared - 1; t < weights.size(); ++t) weights[t] = all[next++];
      return gradients_of(apart, weights);
    };
    const std::vector<Matrix> of_a = of_sequence(pair.a), of_b = of_sequence(pair.b);
    const auto n_columns = [&](const TokenIds& sequence) {
      return std::max<Index>(pair.n_shared, sequence.size() - (GetParam() ? 0 : 1));
    };
    const Index n_a = n_columns(pair.a), n_b = n_columns(pair.b);
    for (Index l = 0; l < model_.config.n_layer; ++l) {
      Matrix expected = of_a[l].cols(0, n_a - 1);
      expected.cols(0, pair.n_shared - 1) += of_b[l].cols(0, pair.n_shared - 1);
      if (n_b > pair.n_shared) {
        expected = arma::join_rows(expected, Matrix(of_b[l].cols(pair.n_shared, n_b - 1)));
      }
      const Matrix got = packed[l].cols(first, first + expected.n_cols - 1);
      EXPECT_LT(test::relative_error(got, expected), test::float32_tolerance);
    }
    first += n_a + n_b - pair.n_shared;
  }
}

/// Pairs whose prefixes and sequences are long enough for the engines of tiles, and one that is
/// not.
class LongSequenceBatchTest : public testing::Test {
 protected:
  LongSequenceBatchTest() {
    Normal random(41);
    const auto tokens = [&](Index count) { return random.tokens(count, model_.config.d_vocab); };
    for (const auto& [n_shared, n_a, n_b] :
         {std::array<Index, 3>{140, 131, 170}, {3, 129, 2}, {150, 5, 140}}) {
      TokenIds a = tokens(n_shared), b = a;
      for (const TokenId id : tokens(n_a)) a.push_back(id);
      for (const TokenId id : tokens(n_b)) b.push_back(id);
      batch_.add_pair(a, b, n_shared, true);
      for (const TokenIds& sequence : {a, b}) {
        const std::vector<double> nll = reference_run(model_, sequence).nll;
        nll_.insert(nll_.end(), nll.begin() + static_cast<std::ptrdiff_t>(n_shared - 1), nll.end());
      }
    }
  }

  std::vector<Matrix> gradients(const ComputeContext& context) {
    HeadGradient gradient(model_, context);
    Activations clean = test::activations_of(model_, batch_, context);
    const std::vector<float> weights(batch_.predictions.size(), 0.5F);
    std::vector<Matrix> dz(model_.config.n_layer);
    gradient.run(clean, batch_, weights,
                 [&](const LayerGradient& layer) { dz[layer.layer] = layer.dz; });
    return dz;
  }

  const Model model_ = [] {
    ModelConfig config = scaled_config();
    config.n_ctx = 320;
    return test::random_weights(config, 40);
  }();
  SequenceBatch batch_;
  std::vector<double> nll_;  // of the predictions, in double precision
};

TEST_F(LongSequenceBatchTest, PredictsEachTokenAsItsSequenceByItselfByEveryEngine) {
  for (const Engine engine : {Engine::float32, Engine::bfloat16_six}) {
    Forward forward(model_, {{.passes = engine}});
    const Matrix resid_final = forward.run(batch_);
    const TokenLoss loss = forward.loss(resid_final, batch_);
    ASSERT_EQ(loss.nll.size(), nll_.size());
    for (std::size_t i = 0; i < nll_.size(); ++i) {
      EXPECT_NEAR(loss.nll[i], nll_[i], test::float32_tolerance * nll_[i]) << "prediction " << i;
    }
  }
}

TEST_F(LongSequenceBatchTest, GradientIsTheSameByEveryEngine) {
  const std::vector<Matrix> expected = gradients({});
  // Of three products each errs by up to 1.5e-5 (weight_product_test.cpp); some follow one another.
  for (const auto& [engine, error] :
       {std::pair{Engine::bfloat16_six, test::float32_tolerance}, {Engine::bfloat16_three, 5e-5}}) {
    const std::vector<Matrix> got =
        gradients({{.passes = Engine::bfloat16_six, .gradients = engine}});
    for (Index l = 0; l < model_.config.n_layer; ++l) {
      EXPECT_LT(test::relative_error(got[l], test::widen(expected[l])), error);
    }
  }
}

// The first column predicts the next token of two sequences.
TEST(SequenceBatch, PredictingColumnsAreThoseOfPredictionsOnceAndInOrder) {
  SequenceBatch batch;
  batch.add_pair(TokenIds{1, 2, 3, 4}, TokenIds{1, 2, 3, 5, 6}, 3, true);
  batch.add_pair(TokenIds{1, 2, 7}, TokenIds{1, 2, 8}, 2, true);
  const PredictingColumns predicting(batch.predictions);
  EXPECT_EQ(predicting.columns, (std::vector<Index>{2, 4, 7}));
  ASSERT_EQ(predicting.predictions.size(), batch.predictions.size());
  for (Index i = 0; i < batch.predictions.size(); ++i) {
    EXPECT_EQ(predicting.predictions[i].target, batch.predictions[i].target);
    EXPECT_EQ(predicting.columns[predicting.predictions[i].column], batch.predictions[i].column);
  }
}

TEST(SequenceBatch, WithoutPredictionsHasNoLosses) {
  const Model model = test::random_weights(test::small_config(), 33);
  const SequenceBatch batch(TokenIds{1});
  HeadAblation ablation(model);
  Forward(model).run(batch, {&ablation});
  const std::vector<HeadVariant> variants{{0, {1}}, {2, {0}}};
  const std::vector<TokenLoss> losses = ablation.losses(batch, variants);
  ASSERT_EQ(losses.size(), 2);
  EXPECT_TRUE(losses[0].nll.empty() && losses[1].nll.empty());
}

TEST(SequenceBatch, PartsThatDoNotFitTogetherAreRefused) {
  const Model model = test::random_weights(test::small_config(), 33);
  Forward forward(model);
  const TokenIds tokens{1, 2, 3};
  const auto error_of = [&](std::vector<SequenceBatch::Sequence> sequences,
                            std::vector<SequenceBatch::Prediction> predictions) {
    SequenceBatch batch(tokens);
    batch.sequences = std::move(sequences);
    batch.predictions = std::move(predictions);
    return message_of([&] { forward.run(batch); });
  };
  EXPECT_EQ(error_of({{0, 2}}, {}), "columns of a batch's sequences: expected 3, got 2");
  EXPECT_EQ(error_of({{0, 2}, {1, 1}}, {}), "first column of a sequence: expected 2, got 1");
  EXPECT_EQ(error_of({{0, 2}, {2, 1, 0, 3}}, {}),
            "end of a sequence's prefix: expected at most 2, got 3");
  EXPECT_EQ(error_of({{0, 3}}, {{3, 1}}), "column of a prediction: expected below 3, got 3");
  SequenceBatch longer;
  longer.add_pair(TokenIds(160, 5), TokenIds(161, 5), 100, true);
  EXPECT_EQ(message_of([&] { forward.run(longer); }), "tokens: expected at most 160, got 161");
  SequenceBatch pair;
  EXPECT_EQ(message_of([&] { pair.add_pair(tokens, tokens, 4, true); }),
            "shared tokens of a pair: expected 1 to 3, got 4");
}

}  // namespace
}  // namespace headscope
