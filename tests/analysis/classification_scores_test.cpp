#include <gmock/gmock.h>

#include <cmath>

#include "scores/pattern.hpp"
#include "scores/tokens.hpp"
#include "support/classification_example.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

TEST(PatternScores, SinkIsMeanWeightOnPositionZero) {
  EXPECT_DOUBLE_EQ(sink_mass(example_pattern()).value(), (0.5 + 0.5 + 0.25 + 0) / 4);
}

TEST(PatternScores, EntropyIsInNatsOverAllKeys) {
  const std::vector<double> entropy = query_entropy(example_pattern());
  const double ln2 = std::log(2.0);
  // Logarithms are float32.
  EXPECT_NEAR(entropy[1], ln2, 1e-7);
  EXPECT_NEAR(entropy[2], 1.5 * ln2, 1e-7);
  EXPECT_NEAR(entropy[3], 1.75 * ln2, 1e-7);
  EXPECT_EQ(entropy[4], 0);
  EXPECT_NEAR(attention_entropy(entropy).value(), (1 + 1.5 + 1.75 + 0) / 4 * ln2, 1e-7);
}

TEST(PatternScores, ConfidenceIsMeanLargestWeight) {
  EXPECT_DOUBLE_EQ(attention_confidence(example_pattern()).value(), (0.5 + 0.5 + 0.5 + 1) / 4);
}

TEST(PatternScores, DistanceLeavesTheSinkOut) {
  const Ratio distance = attention_distance(example_pattern());
  EXPECT_DOUBLE_EQ(distance.numerator, 0.25 + (1 + 0.125) + 1);
  EXPECT_DOUBLE_EQ(distance.denominator, 0.5 + 0.75 + 1);
}

TEST(PatternScores, EvenDistanceKeepsTheAttentionThatQueriesGiveToOtherKeysThanTheSink) {
  Matrix even(6, 6, arma::fill::zeros);
  double moment = 0, mass = 0;
  for (Index q = 2; q < 6; ++q) {
    const float left = 0.1f * static_cast<float>(q);
    even(0, q) = 1 - left;
    even.col(q).subvec(1, q).fill(left / static_cast<float>(q));
    moment += 0.1 * static_cast<double>(q * (q - 1)) / 2;
    mass += 0.1 * static_cast<double>(q);
  }
  EXPECT_NEAR(even_attention_distance(even).value(), moment / mass, 1e-6);
  EXPECT_NEAR(attention_distance(even).value(), moment / mass, 1e-6);
  EXPECT_GT(even_attention_distance(even).value(), uniform_attention_distance(6).value() + 0.1);
  const Ratio of_example = even_attention_distance(example_pattern());
  EXPECT_DOUBLE_EQ(of_example.numerator, 0.5 * 0.5 + 0.75 * 1 + 1 * 1.5);
  EXPECT_DOUBLE_EQ(of_example.denominator, 0.5 + 0.75 + 1);
  EXPECT_TRUE(std::isnan(even_attention_distance(Matrix(2, 2, arma::fill::ones)).value()));
}

TEST(PatternScores, UniformAndFurthestDistanceAreThoseOfSuchPatterns) {
  Matrix uniform(6, 6, arma::fill::zeros);
  Matrix furthest(6, 6, arma::fill::zeros);
  for (Index q = 0; q < 6; ++q) {
    if (q > 0) uniform.col(q).subvec(1, q).fill(1.0f / static_cast<float>(q));
    furthest(q == 0 ? 0 : 1, q) = 1;
  }
  // The weights are float32.
  EXPECT_NEAR(attention_distance(uniform).value(), uniform_attention_distance(6).value(), 1e-6);
  EXPECT_DOUBLE_EQ(uniform_attention_distance(6).value(), (0.5 + 1 + 1.5 + 2) / 4);
  EXPECT_DOUBLE_EQ(attention_distance(furthest).value(), furthest_attention_distance(6).value());
  EXPECT_DOUBLE_EQ(furthest_attention_distance(6).value(), (1 + 2 + 3 + 4) / 4.0);
}

TEST(PatternScores, PreviousTokenStartsAtQueryTwo) {
  EXPECT_DOUBLE_EQ(offset_mass(example_pattern(), 1).value(), (0.25 + 0.125 + 1) / 3);
}

TEST(PatternScores, LargestKeyLeavesTheSinkOutAndTheNearestWinsTies) {
  const std::vector<Index> largest = largest_keys(example_pattern());
  EXPECT_THAT(largest, ElementsAre(no_position, no_position, 2, 1, 3));
  EXPECT_THAT(largest_offset_counts(largest), ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 0));
}

TEST(PatternScores, VariabilityIsHalfTheRelativeDeviationFromTheMean) {
  const arma::mat mean(n_variability_position, n_variability_position, arma::fill::value(0.25));
  const Ratio variability = attention_variability(example_pattern(), mean);
  EXPECT_DOUBLE_EQ(variability.numerator, 0 + (0.25 + 0.125 + 0.125) + (0.25 * 3 + 0.75));
  EXPECT_DOUBLE_EQ(variability.denominator, 2 * (0.5 + 0.75 + 1));
}

TEST(PatternScores, VariabilityOfAPurelyPositionalHeadIsZero) {
  arma::mat mean(n_variability_position, n_variability_position, arma::fill::zeros);
  mean.submat(0, 0, 4, 4) = arma::conv_to<arma::mat>::from(example_pattern());
  EXPECT_DOUBLE_EQ(attention_variability(example_pattern(), mean).value(), 0);
}

TEST(PatternScores, TooShortDocumentsGiveNoScore) {
  const Matrix one(1, 1, arma::fill::ones);
  EXPECT_TRUE(std::isnan(sink_mass(one).value()));
  EXPECT_TRUE(std::isnan(attention_distance(one).value()));
  EXPECT_TRUE(std::isnan(uniform_attention_distance(2).value()));
}

TEST(TokenScores, PunctuationIsUnicodePunctuationWithSpaces) {
  Piece piece;
  piece.has_bos = true;
  piece.token_text = {"<|endoftext|>", "Hi", ",", " \xE2\x80\x94", " \"a", "$", " ", "?!\n"};
  piece.tokens.assign(piece.token_text.size(), 0);
  EXPECT_THAT(punctuation_tokens(piece), ElementsAre(0, 0, 1, 1, 0, 0, 0, 1));
}

TEST(TokenScores, PiecesOfOnePunctuationCharacterAreEachPunctuation) {
  Piece piece;
  piece.token_text = {"a", "\xE2\x80", "\x9D", "\xC3", "\xA9", "\xFF."};
  piece.tokens.assign(piece.token_text.size(), 0);
  EXPECT_THAT(punctuation_tokens(piece), ElementsAre(0, 1, 1, 0, 0, 0));
}

TEST(TokenScores, PunctuationIsUnknownWithoutText) {
  Piece piece;
  piece.tokens = {1, 2, 3};
  EXPECT_TRUE(punctuation_tokens(piece).empty());
}

TEST(TokenScores, DelimiterShareIsOfTheMassOutsideTheSink) {
  const std::vector<unsigned char> marks{1, 0, 1, 0, 1};
  const Ratio share = delimiter_share(example_pattern(), marks);
  EXPECT_DOUBLE_EQ(share.numerator, 0.25 + 0.125 + 0);
  EXPECT_DOUBLE_EQ(share.denominator, 0.5 + 0.75 + 1);
  const Ratio baseline = delimiter_baseline(marks);
  EXPECT_DOUBLE_EQ(baseline.numerator, 1 + 1 + 2);
  EXPECT_DOUBLE_EQ(baseline.denominator, 2 + 3 + 4);
}

TEST(TokenScores, DuplicateTokenAveragesOverQueriesWithACopy) {
  const auto copies = earlier_copies({5, 5, 7, 5, 7});
  EXPECT_THAT(copies[1], ElementsAre()) << "position 0 is the sink";
  EXPECT_THAT(copies[3], ElementsAre(1));
  EXPECT_THAT(copies[4], ElementsAre(2));
  const Ratio mass = duplicate_token_mass(example_pattern(), copies);
  EXPECT_DOUBLE_EQ(mass.numerator, 0.5 + 0);
  EXPECT_DOUBLE_EQ(mass.denominator, 2);
}

TEST(TokenScores, DuplicateTokenAddsUpAllCopies) {
  const Ratio mass = duplicate_token_mass(example_pattern(), earlier_copies({0, 5, 5, 5, 7}));
  EXPECT_DOUBLE_EQ(mass.numerator, 0.25 + (0.5 + 0.125));
  EXPECT_DOUBLE_EQ(mass.denominator, 2);
}

TEST(TokenScores, AfterCopiesIsTheAttentionToWhatFollowedThem) {
  // Query 3 (5) follows token 7 at 2 after its copy at 1; query 4 (7) has its copy at 2, followed
  // by 5 at 3.
  const Ratio mass = after_copies_mass(example_pattern(), earlier_copies({0, 5, 7, 5, 7}));
  EXPECT_DOUBLE_EQ(mass.numerator, 0.125 + 1);
  EXPECT_DOUBLE_EQ(mass.denominator, 2);
}

TEST(TokenScores, AfterCopiesLeavesOutTheQueryItself) {
  const Ratio mass = after_copies_mass(example_pattern(), earlier_copies({0, 1, 5, 5, 5}));
  EXPECT_DOUBLE_EQ(mass.numerator, 1) << "query 4 has the copies 2 and 3";
  EXPECT_DOUBLE_EQ(mass.denominator, 1);
}

TEST(TokenScores, RareTokenIsTheRarestAmongTheKeys) {
  const TokenIds tokens{0, 5, 7, 5, 7};
  const auto rarest = rarest_tokens(tokens, {1, 0, 0, 0, 0, 10, 0, 3});
  EXPECT_THAT(rarest, ElementsAre(std::nullopt, std::nullopt, 7, 7, 7));
  const Ratio share = rare_token_share(largest_keys(example_pattern()), tokens, rarest);
  EXPECT_DOUBLE_EQ(share.numerator, 1);
  EXPECT_DOUBLE_EQ(share.denominator, 3);
}

TEST(TokenScores, TiedRarestTokensLeaveTheQueryOutUntilARarerOneComes) {
  EXPECT_THAT(rarest_tokens({0, 1, 2, 1, 3, 3}, {9, 4, 4, 2}),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt, std::nullopt, 3, 3));
}

}  // namespace
}  // namespace headscope
