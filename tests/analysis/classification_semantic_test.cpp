#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "induction.hpp"
#include "scores/semantic.hpp"
#include "support/random_weights.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

/// Embeddings of tokens 0 .. 9: vectors in a plane with different angles and lengths.
Matrix fan_embedding() {
  Matrix W_E(2, 10);
  for (Index i = 0; i < 10; ++i) {
    const double angle = 0.25 * static_cast<double>(i);
    const double length = 1 + static_cast<double>(i % 3);
    W_E(0, i) = static_cast<float>(length * std::cos(angle));
    W_E(1, i) = static_cast<float>(length * std::sin(angle));
  }
  return W_E;
}

double fan_cosine(TokenId a, TokenId b) {
  return std::cos(0.25 * (a - b));
}

/// One head: `query` attends with `base + slope * cosine`, other queries with zero.
Cube linear_pattern(const TokenIds& tokens, Index query, double base, double slope) {
  Cube pattern(tokens.size(), tokens.size(), 1, arma::fill::zeros);
  for (Index k = 0; k <= query; ++k) {
    pattern(k, query, 0) = static_cast<float>(base + slope * fan_cosine(tokens[query], tokens[k]));
  }
  return pattern;
}

TEST(Semantic, AttentionLinearInSimilarityHasCorrelationOne) {
  const TokenIds tokens{0, 1, 2, 3, 4, 5, 6, 7};
  const TokenSimilarity similarity(tokens, fan_embedding(), 0, 0, 0);
  const auto rising = semantic_scores(linear_pattern(tokens, 7, 0.2, 0.1), similarity);
  EXPECT_NEAR(rising[0].correlation.value(), 1, test::rounding_tolerance);
  EXPECT_DOUBLE_EQ(rising[0].correlation.denominator, 1);
  const auto falling = semantic_scores(linear_pattern(tokens, 7, 0.2, -0.1), similarity);
  EXPECT_NEAR(falling[0].correlation.value(), -1, test::rounding_tolerance);
}

TEST(Semantic, IgnoresTheSinkTheNearestKeysAndCopiesOfTheQuery) {
  const TokenIds tokens{0, 1, 2, 3, 8, 4, 5, 6, 8};
  const TokenSimilarity similarity(tokens, fan_embedding(), 0, 0, 0);
  Cube pattern = linear_pattern(tokens, 8, 0.2, 0.1);
  for (const Index ignored : {0, 4, 7, 8}) pattern(ignored, 8, 0) = 0.9f;
  EXPECT_NEAR(semantic_scores(pattern, similarity)[0].correlation.value(), 1,
              test::rounding_tolerance);
}

TEST(Semantic, NeedsFiveEligibleKeysAndAttentionThatVaries) {
  const Matrix W_E = fan_embedding();
  const TokenIds short_document{0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(semantic_scores(linear_pattern(short_document, 6, 0.2, 0.1),
                            TokenSimilarity(short_document, W_E, 0, 0, 0))[0]
                .correlation.denominator,
            0);
  const TokenIds tokens{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(
      semantic_scores(linear_pattern(tokens, 7, 0.125, 0), TokenSimilarity(tokens, W_E, 0, 0, 0))[0]
          .correlation.denominator,
      0);
}

TEST(Semantic, RenamedTokensExchangeTheirSimilarities) {
  const TokenIds tokens{0, 1, 2, 3, 1, 5, 6, 7};
  const TokenSimilarity similarity(tokens, fan_embedding(), 3, 11, 0);
  std::vector<float> plain(8), renamed(8), again(8);
  similarity.column(7, plain.data());
  similarity.permuted_column(0, 7, renamed.data());
  TokenSimilarity(tokens, fan_embedding(), 1, 11, 0).permuted_column(0, 7, again.data());
  EXPECT_NEAR(plain[3], fan_cosine(7, 3), test::rounding_tolerance);
  EXPECT_NEAR(renamed[7], 1, test::rounding_tolerance) << "a token stays itself";
  EXPECT_EQ(renamed[1], renamed[4]) << "copies stay copies";
  EXPECT_EQ(renamed, again) << "repeatable from the seed";
  std::vector<float> other(8);
  similarity.permuted_column(1, 7, other.data());
  EXPECT_NE(renamed, other);
}

TEST(Semantic, NullOfAttentionBySimilarityIsNearZero) {
  TokenIds tokens{0};
  Matrix W_E(16, 60);
  arma::arma_rng::set_seed(5);
  W_E.randn();
  for (TokenId t = 0; t < 60; ++t) tokens.push_back(t);
  const TokenSimilarity similarity(tokens, W_E, 50, 3, 0);
  Cube pattern(61, 61, 1, arma::fill::zeros);
  std::vector<float> column(61);
  for (Index q = 0; q < 61; ++q) {
    similarity.column(q, column.data());
    for (Index k = 0; k <= q; ++k) pattern(k, q, 0) = 0.01f * (1 + column[k]);
  }
  const SemanticScore score = semantic_scores(pattern, similarity)[0];
  EXPECT_NEAR(score.correlation.value(), 1, test::rounding_tolerance);
  // A null varies by 0.03, and the mean of 50 by 0.004: five times either.
  double mean = 0;
  for (const Ratio& null : score.permuted) {
    EXPECT_NEAR(null.value(), 0, 0.15);
    mean += null.value() / 50;
  }
  EXPECT_NEAR(mean, 0, 0.02);
}

TEST(Induction, SequencesRepeatHalvesOfDifferentTokens) {
  const auto sequences = induction_sequences(100, 99, 50, 10, 1);
  ASSERT_EQ(sequences.size(), 10u);
  for (const TokenIds& tokens : sequences) {
    ASSERT_EQ(tokens.size(), 101u);
    EXPECT_EQ(tokens[0], 99);
    EXPECT_TRUE(std::equal(tokens.begin() + 1, tokens.begin() + 51, tokens.begin() + 51));
    const std::set<TokenId> different(tokens.begin(), tokens.end());
    EXPECT_EQ(different.size(), 51u);
  }
  EXPECT_NE(sequences[0], sequences[1]);
  EXPECT_EQ(sequences, induction_sequences(100, 99, 50, 10, 1));
  EXPECT_NE(sequences, induction_sequences(100, 99, 50, 10, 2));
}

TEST(Induction, SequencesAreAsLongAsTheModelAllowsThoughTheCorpusHasShorterPieces) {
  const std::vector<test::NamedConfig> configs = test::every_architecture();
  const auto llama = std::ranges::find(configs, "llama", &test::NamedConfig::name);
  Model model = test::random_weights(llama->config, 3);
  const Array scores = induction_scores(model, 7, 1);
  model.config.model_n_ctx = model.config.n_ctx;
  model.config.n_ctx = 8;
  EXPECT_EQ(induction_sequences(model, 7, 1).front().size(), 101u);
  EXPECT_EQ(induction_scores(model, 7, 1).values, scores.values);
}

TEST(Induction, BeginsWithTheConfigsFirstTokenWhereTheVocabularyHasIt) {
  ModelConfig config = test::tiny_config();
  config.first_token = config.d_vocab - 2;
  EXPECT_EQ(induction_first_token(test::random_weights(config, 3), nullptr), config.d_vocab - 2);
  config.first_token = config.d_vocab;
  EXPECT_EQ(induction_first_token(test::random_weights(config, 3), nullptr), config.d_vocab - 1);
}

TEST(Induction, HasNoScoreWhereAHalfIsHardlyLongerThanTheOffsetsOfPositionalHeads) {
  ModelConfig config = test::tiny_config();
  config.n_ctx = 21;
  EXPECT_EQ(induction_sequences(test::random_weights(config, 3), 7, 1).front().size(), 21u);
  config.n_ctx = 20;
  const Model model = test::random_weights(config, 3);
  EXPECT_TRUE(induction_sequences(model, 7, 1).empty());
  for (const double score : induction_scores(model, 7, 1).values) EXPECT_TRUE(std::isnan(score));
}

TEST(Induction, MassIsOnTheTokenAfterTheFirstOccurrence) {
  // Positions 1 2 3 repeat as 4 5 6; the successor of the first occurrence is 2 places back.
  Matrix pattern(7, 7, arma::fill::zeros);
  pattern(2, 4) = 0.5f;
  pattern(3, 5) = 0.25f;
  pattern(4, 6) = 1;
  pattern(1, 3) = 1;
  EXPECT_DOUBLE_EQ(induction_mass(pattern, 3), (0.5 + 0.25 + 1) / 3);
}

}  // namespace
}  // namespace headscope
