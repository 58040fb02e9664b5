#include "attention_patterns/attention_patterns.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/utf8.hpp"
#include "support/classification_example.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

TEST(ContributionNorms, AreThoseOfWhatTheHeadWrites) {
  const Matrix values{{1, 0, 2}, {0, 1, 1}};  // d_head x n_key
  const Matrix W_O{{3, 0}, {4, 0}, {0, 2}};   // d_model x d_head
  const std::vector<double> norms = contribution_norms(values, W_O);
  EXPECT_NEAR(norms[0], 5, test::double_rounding);
  EXPECT_NEAR(norms[1], 2, test::double_rounding);
  EXPECT_NEAR(norms[2], std::sqrt(36 + 64 + 4), test::double_rounding);
}

TEST(Rollout, MultipliesHalfTheMeanPatternPlusHalfTheIdentity) {
  Cube pattern(5, 5, 2);
  pattern.slice(0) = example_pattern();
  pattern.slice(1).eye();
  arma::mat rollout(5, 5, arma::fill::eye);
  extend_rollout(rollout, pattern, {0, 1});
  // Query 2: half the mean of (1/2 1/4 1/4) and (0 0 1), plus half of (0 0 1).
  EXPECT_NEAR(rollout(0, 2), 0.125, test::double_rounding);
  EXPECT_NEAR(rollout(1, 2), 0.0625, test::double_rounding);
  EXPECT_NEAR(rollout(2, 2), 0.8125, test::double_rounding);
  const arma::mat first = rollout;
  extend_rollout(rollout, pattern, {0, 1});
  // Query 1 reaches key 0 through either layer: 1/8 * 1 + 7/8 * 1/8.
  EXPECT_NEAR(rollout(0, 1), 0.125 + 0.875 * 0.125, test::double_rounding);
  for (Index query = 0; query < 5; ++query) {
    EXPECT_NEAR(arma::accu(rollout.col(query)), 1, test::double_rounding);
    double step = 0;
    for (Index via = 0; via < 5; ++via) step += first(0, via) * first(via, query);
    EXPECT_NEAR(rollout(0, query), step, test::double_rounding);
  }
}

TEST(Rollout, LeavesOutHeadsThatTheModelHasLost) {
  Cube pattern(5, 5, 2);
  pattern.slice(0) = example_pattern();
  pattern.slice(1).eye();
  arma::mat rollout(5, 5, arma::fill::eye);
  extend_rollout(rollout, pattern, {0});
  // Query 2: half of (1/2 1/4 1/4), plus half of (0 0 1).
  EXPECT_NEAR(rollout(0, 2), 0.25, test::double_rounding);
  EXPECT_NEAR(rollout(1, 2), 0.125, test::double_rounding);
  EXPECT_NEAR(rollout(2, 2), 0.625, test::double_rounding);
  const arma::mat before = rollout;
  extend_rollout(rollout, pattern, {});
  EXPECT_TRUE(arma::approx_equal(rollout, before, "absdiff", 0)) << "a layer without heads";
}

TEST(ReadableText, KeepsTextAndWritesOtherBytesInHexadecimal) {
  EXPECT_EQ(escaped_utf8(" caf\xC3\xA9"), " caf\xC3\xA9");
  EXPECT_EQ(escaped_utf8("a\n\x7F"), "a\\x0A\\x7F");
  EXPECT_EQ(escaped_utf8("\xE2\x80"), "\\xE2\\x80");
  EXPECT_EQ(escaped_utf8("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "a surrogate";
  EXPECT_EQ(escaped_utf8("\xC0\xAF"), "\\xC0\\xAF") << "overlong";
  EXPECT_EQ(escaped_utf8("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
  for (const std::string text :
       {"caf\xC3\xA9", "\xE2\x80", "a\n\x7F", "\\x", "\\xG0", "\\x-1 \\"}) {
    EXPECT_EQ(unescaped_utf8(escaped_utf8(text)), text);
  }
}

}  // namespace
}  // namespace headscope
