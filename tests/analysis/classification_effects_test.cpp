#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "classification/classification.hpp"
#include "classification/tests/copy_effect.hpp"
#include "classification/types/types.hpp"
#include "compute/layer.hpp"
#include "compute/product/engines.hpp"
#include "headscope/model.hpp"
#include "headscope/tokenizer.hpp"
#include "significance.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"
#include "support/random_weights.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::random_weights;
using test::small_config;

ModelConfig effects_config(bool tied) {
  ModelConfig config = small_config();
  config.tied_unembedding = tied;
  return config;
}

/// The logits of a residual stream before and after what one key's values write, from their
/// definition in double: d_vocab x 2 columns are not needed, only the change.
arma::vec written_logits(const Model& model, const Matrix& qkv, Index layer, Index head, Index key,
                         double scale) {
  const Index d_head = model.config.d_head(), d_model = model.config.d_model;
  const arma::vec v = arma::conv_to<arma::vec>::from(
      qkv(arma::span(2 * d_model + head * d_head, 2 * d_model + (head + 1) * d_head - 1),
          arma::span(key)));
  const arma::mat W_O = arma::conv_to<arma::mat>::from(
      model.layers[layer].W_O.cols(head * d_head, (head + 1) * d_head - 1));
  arma::vec written = W_O * v;
  written -= arma::mean(written);
  written %= arma::conv_to<arma::vec>::from(model.ln_f_gain);
  return arma::conv_to<arma::mat>::from(model.unembedding()).t() * written / scale;
}

/// Runs a piece under CopyEffects, and the same sums from their definition.
class EffectsByDefinition : public LayerObserver {
 public:
  EffectsByDefinition(const Model& model, const TokenIds& tokens)
      : model_(model),
        tokens_(tokens),
        forward_(model),
        attribution_(model),
        lens_(model),
        effects_(model, attribution_, lens_, tokens_) {
    const Matrix resid = forward_.run(tokens, {this});
    scales_ = final_scales(model, resid);
  }
  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override {
    effects_.observe_layer(view);
    qkv_.push_back(view.qkv);
    pattern_.push_back(view.pattern);
    resid_.push_back(view.resid_pre);
  }

  std::array<Ratio, CopyEffects::n_kind> measured(Index layer, Index head) const {
    return effects_.effects(layer, head, scales_);
  }

  std::array<double, CopyEffects::n_kind> expected(Index layer, Index head) {
    const std::set<TokenId> types(tokens_.begin() + 1, tokens_.end());
    const Matrix logits = forward_.logits(resid_[layer]);
    std::array<double, CopyEffects::n_kind> sums{};
    predicted_.clear();
    for (Index q = 2; q < tokens_.size(); ++q) {
      for (Index k = 1; k <= q; ++k) {
        const arma::vec c = written_logits(model_, qkv_[layer], layer, head, k, scales_[q]);
        double of_types = 0;
        for (const TokenId type : types) of_types += c(type) / static_cast<double>(types.size());
        const double weight = pattern_[layer](k, q, head), mean = arma::mean(c);
        const double effect = weight * (c(tokens_[k]) - mean), null = weight * (of_types - mean);
        sums[CopyEffects::copy] += effect;
        sums[CopyEffects::copy_null] += null;
        const Vector at_query = logits.col(q);
        const arma::uvec larger = arma::find(at_query > at_query(tokens_[k]));
        if (larger.n_elem >= n_predicted_token) continue;
        ++n_predicted_;
        predicted_[q][k] = effect;
        sums[CopyEffects::suppression] += effect;
        sums[CopyEffects::suppression_null] += null;
      }
    }
    return sums;
  }

  Index n_predicted() const { return n_predicted_; }

  /// Effects through the keys of predicted tokens, of the head last expected.
  const std::map<Index, double>& predicted(Index query) { return predicted_[query]; }
  Index lowered_key(Index layer, Index head, Index query) const {
    return effects_.lowered_key(layer, head, query);
  }

 private:
  const Model& model_;
  TokenIds tokens_;
  Forward forward_;
  LogitAttribution attribution_;
  LogitLens lens_;
  CopyEffects effects_;
  std::vector<double> scales_;
  std::vector<Matrix> qkv_, resid_;
  std::vector<Cube> pattern_;
  Index n_predicted_ = 0;
  std::map<Index, std::map<Index, double>> predicted_;  // by query and key
};

TEST(CopyEffects, AreTheLogitsThatAttendingAddsToTheAttendedToken) {
  for (const bool tied : {true, false}) {
    const Model model = random_weights(effects_config(tied), 3);
    TokenIds tokens = test::Normal(5).tokens(14, 12);  // few types, so that tokens return
    EffectsByDefinition run(model, tokens);
    for (Index layer = 0; layer < model.config.n_layer; ++layer) {
      for (Index head = 0; head < model.config.n_head; ++head) {
        const auto measured = run.measured(layer, head);
        const auto expected = run.expected(layer, head);
        for (std::size_t kind = 0; kind < expected.size(); ++kind) {
          EXPECT_EQ(measured[kind].denominator, 12);
          // Sums of a hundred float32 products of order 1.
          EXPECT_NEAR(measured[kind].numerator, expected[kind], 1e-5) << layer << " " << kind;
        }
      }
    }
    // A tied model predicts the token that it reads; else hardly any of 1500 is a key's.
    if (tied) {
      EXPECT_GT(run.n_predicted(), 0u);
    }
  }
}

TEST(CopyEffects, TheLoweredKeyIsThePredictedTokensThatTheHeadLowersMost) {
  const Model model = random_weights(effects_config(true), 3);
  const TokenIds tokens = test::Normal(5).tokens(14, 12);
  EffectsByDefinition run(model, tokens);
  Index n_lowered = 0, n_none = 0;
  for (Index layer = 0; layer < model.config.n_layer; ++layer) {
    for (Index head = 0; head < model.config.n_head; ++head) {
      run.expected(layer, head);
      for (Index query = 0; query < tokens.size(); ++query) {
        const std::map<Index, double>& effects = run.predicted(query);
        double lowest = 0;
        for (const auto& [key, effect] : effects) lowest = std::min(lowest, effect);
        const Index key = run.lowered_key(layer, head, query);
        if (lowest == 0) {
          EXPECT_EQ(key, no_position);
          ++n_none;
          continue;
        }
        ASSERT_TRUE(effects.contains(key)) << key;
        // Of two effects that float32 cannot tell apart, either may be taken.
        EXPECT_NEAR(effects.at(key), lowest, test::rounding_tolerance);
        ++n_lowered;
      }
    }
  }
  EXPECT_GT(n_lowered, 0u);
  EXPECT_GT(n_none, 0u);
}

TEST(CopyEffects, OfAPieceWithoutAQueryAreMissing) {
  const Model model = random_weights(small_config(), 3);
  for (const Index n_token : {Index{1}, Index{2}}) {
    EffectsByDefinition run(model, TokenIds(n_token, 7));
    EXPECT_EQ(run.measured(0, 0)[CopyEffects::copy].denominator, 0);
  }
}

TEST(LogitLens, NamesTheMostProbableTokensInOrder) {
  // More tokens than are multiplied at once, and columns enough for every engine to pack.
  ModelConfig config = small_config();
  config.d_vocab = 3000;
  Model model = random_weights(config, 8);
  // Entries that only double tells apart stand among the largest.
  Matrix& W_E = model.W_E;
  for (Index v = 1; v < config.d_vocab; v += 3) W_E.col(v) = W_E.col(v - 1) * 1.0000002F;
  const Matrix resid = test::Normal(4).matrix(model.config.d_model, 140);
  Matrix normalized(resid.n_rows, resid.n_cols);
  final_norm(model).apply(resid, normalized);
  const arma::mat logits = arma::conv_to<arma::mat>::from(model.unembedding()).t() *
                           arma::conv_to<arma::mat>::from(normalized);
  for (const EngineEntry& entry : engines()) {
    SCOPED_TRACE(entry.name);
    const std::vector<TokenIds> found = LogitLens(model, entry.engine).most_probable(resid, 10);
    ASSERT_EQ(found.size(), resid.n_cols);
    for (Index t = 0; t < resid.n_cols; ++t) {
      const arma::uvec order = arma::stable_sort_index(logits.col(t), "descend");
      ASSERT_EQ(found[t].size(), 10u);
      for (Index i = 0; i < 10; ++i) {
        // The reference sums in another order, within 1e-14 of the largest logits, some 10.
        EXPECT_NEAR(logits(static_cast<Index>(found[t][i]), t), logits(order(i), t), 1e-12);
      }
    }
  }
}

TEST(LogitLens, TheLowestIdWinsTiesAndAShortVocabularyIsTakenWhole) {
  ModelConfig config = small_config();
  config.d_vocab = 4;
  Model model = random_weights(config, 8);
  const Vector b_U{0, 1, 0, 1};
  model.b_U = b_U;
  const Matrix nothing(config.d_model, 1, arma::fill::zeros);
  model.ln_f_bias.zeros();
  EXPECT_THAT(LogitLens(model, Engine::float32).most_probable(nothing, 10)[0],
              testing::ElementsAre(1, 3, 0, 2));
}

/// Sums of one head: effects and their nulls by document.
Statistics effects_of(const std::vector<std::array<double, 3>>& effect_null_weight) {
  Statistics statistics;
  DocumentStatistics document(statistics, 0);
  for (std::size_t i = 0; i < effect_null_weight.size(); ++i) {
    const auto& [effect, null, weight] = effect_null_weight[i];
    document.sum("effect", {n_block, 1, 1})(i, 0, 0) = effect;
    document.sum("null", {n_block, 1, 1})(i, 0, 0) = null;
    document.sum(weight_name("effect"), {n_block, 1, 1})(i, 0, 0) = weight;
  }
  document.end();
  return statistics;
}

TEST(EffectTest, OfDocumentsOfOneLengthIsThePairedT) {
  const Statistics statistics = effects_of({{30, 10, 10}, {10, 10, 10}, {45, 5, 10}, {20, 0, 10}});
  // Differences of means 2, 0, 4, 2: mean 2, standard deviation sqrt(8/3), t = 2.449 on 3 degrees;
  // two-sided p by the closed form for 3 degrees, to seven digits.
  EXPECT_NEAR(test_effect(statistics, "effect", "null").p[0], 0.0917211, 1e-7);
}

TEST(EffectTest, OfOneDocumentIsMissing) {
  EXPECT_TRUE(std::isnan(test_effect(effects_of({{30, 10, 10}}), "effect", "null").p[0]));
}

TEST(EffectTest, RemovedHeadsAreNotTested) {
  Statistics statistics;
  DocumentStatistics document(statistics, 0);
  const Shape heads{n_block, 1, 3};
  document.sum("null", heads);
  const std::vector<double> effects{2, 1, 4, 3};
  for (std::size_t i = 0; i < effects.size(); ++i) {
    for (Index head = 0; head < 3; ++head) {
      document.sum("effect", heads)(i, 0, head) = effects[i] - static_cast<double>(head);
      document.sum(weight_name("effect"), heads)(i, 0, head) = 1;
    }
  }
  document.end();
  const EffectTest complete = test_effect(statistics, "effect", "null"),
                   pruned = test_effect(statistics, "effect", "null", {1, 2});
  EXPECT_GT(complete.q[0], complete.p[0]);
  EXPECT_EQ(pruned.p[0], complete.p[0]);
  EXPECT_EQ(pruned.q[0], pruned.p[0]) << "one test";
  for (const Index head : {1, 2}) {
    EXPECT_TRUE(std::isnan(pruned.p[head]));
    EXPECT_TRUE(std::isnan(pruned.q[head]));
  }
}

/// What classification finds of a model on the first stories.
ResultsGroup classified(const Model& model, std::uint64_t n_classified) {
  const test::PlantedStories planted(n_classified);
  AnalysisSettings settings;
  settings.n_bootstrap = 20;
  settings.options<ClassificationOptions>().n_explain = 1;  // labels are not looked at
  const RegisteredAnalysis analysis = classification_analysis();
  return test::Passes(analysis, {model, &planted.corpus, settings}).results_of_all().front();
}

double of_type(const ResultsGroup& group, const std::string& type, Index layer, Index head) {
  return group.variable("type").values(*group.dimension("head_type").place_of(type), layer, head);
}

TEST(CopyingTypes, UntrainedModelsOfThreeShapesReachNeitherThreshold) {
  for (const auto& [n_layer, n_head, d_model] :
       {std::array<Index, 3>{2, 4, 64}, {4, 2, 128}, {3, 8, 256}}) {
    ModelConfig config = test::config_of({.n_layer = n_layer,
                                          .n_head = n_head,
                                          .d_model = d_model,
                                          .d_mlp = 4 * d_model,
                                          .n_ctx = 256,
                                          .d_vocab = 2560});
    const ResultsGroup group = classified(random_model(config, 11), 24);
    for (const std::string effect : {"copy_effect", "suppression_effect"}) {
      for (const double value : group.variable(effect).values.values) {
        EXPECT_LT(std::abs(value), least_effect / 4) << effect << ", width " << d_model;
      }
      // Random weights of a tied embedding have small effects beyond doubt: the threshold keeps
      // them out, not the test.
      EXPECT_LT(std::ranges::min(group.variable(effect + "_q").values.values), significant_q);
    }
    for (const char* const type : {"copying", "suppressing"}) {
      for (Index layer = 0; layer < n_layer; ++layer) {
        for (Index head = 0; head < n_head; ++head) EXPECT_EQ(of_type(group, type, layer, head), 0);
      }
    }
  }
}

TEST(CopyingTypes, ThePlantedInductionHeadCopiesAndTheHeadThatTakesItsTokenOutSuppresses) {
  const ResultsGroup group = classified(test::planted_model(), 24);
  for (Index layer = 0; layer < 2; ++layer) {
    for (Index head = 0; head < 4; ++head) {
      const bool copies = layer == 1 && head == 0, takes_out = layer == 1 && head == 2;
      EXPECT_EQ(of_type(group, "copying", layer, head), copies ? 1 : 0) << layer << head;
      EXPECT_EQ(of_type(group, "suppressing", layer, head), takes_out ? 1 : 0) << layer << head;
    }
  }
  EXPECT_GT(group.variable("copy_effect").values(1, 0), 1);
  EXPECT_LT(group.variable("suppression_effect").values(1, 2), -1);
}

}  // namespace
}  // namespace headscope
