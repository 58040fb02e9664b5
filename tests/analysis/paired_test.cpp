#include "classification/tests/paired.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr Index n_rule = 40, n_tested_head = 40;

/// Counts of a document whose head and rule of the same number are exchangeable: each is right with
/// a probability of its own in this document, so that cases within it depend on each other.
PairedCounts exchangeable_counts(std::uint64_t replicate, std::uint64_t document) {
  const CounterRandom random(replicate, document);
  std::uint64_t counter = 0;
  const auto uniform = [&] { return random.uniform(counter++); };
  PairedCounts counts(n_rule, n_tested_head);
  // Documents differ in length: 1 to 40 cases, most of them few.
  const auto n_case = static_cast<Index>(1 + 40 * std::pow(uniform(), 3));
  for (Index i = 0; i < n_case; ++i) counts.add_case();
  const auto hits = [&] {
    const double probability = uniform();
    double n = 0;
    for (Index i = 0; i < n_case; ++i) n += uniform() < probability ? 1 : 0;
    return n;
  };
  for (Index i = 0; i < n_tested_head; ++i) {
    counts.add_head_hits(i, hits());
    for (double n = hits(); n > 0; --n) counts.add_rule_hit(i);
  }
  return counts;
}

TEST(PairedSums, PValuesOfExchangeableHeadsAndRulesAreUniform) {
  constexpr std::uint64_t n_replicate = 50, n_document = 30;
  double n = 0, below_twentieth = 0, below_fifth = 0, below_half = 0;
  for (std::uint64_t replicate = 0; replicate < n_replicate; ++replicate) {
    Statistics statistics;
    for (std::uint64_t document = 0; document < n_document; ++document) {
      DocumentStatistics part(statistics, document);
      exchangeable_counts(replicate, document).add_to(part, "test");
      part.end();
    }
    const PairedSums sums(statistics, "test", n_rule);
    for (Index i = 0; i < n_tested_head; ++i) {
      const double p = sums.p(i, i);
      ++n;
      below_twentieth += p < 0.05 ? 1 : 0;
      below_fifth += p < 0.2 ? 1 : 0;
      below_half += p < 0.5 ? 1 : 0;
    }
  }
  // Four standard errors of a share of 2000 independent tests, and 0.005 for the t-test of skewed
  // differences.
  EXPECT_NEAR(below_twentieth / n, 0.05, 0.025);
  EXPECT_NEAR(below_fifth / n, 0.2, 0.041);
  EXPECT_NEAR(below_half / n, 0.5, 0.05);
}

TEST(PairedSums, AreThoseOfTheDifferencesByDocument) {
  const double heads[] = {3, 1, 4, 0}, rules[] = {1, 1, 2, 1};
  Statistics statistics;
  double sum = 0, squares = 0;
  for (std::uint64_t document = 0; document < 5; ++document) {
    DocumentStatistics part(statistics, document);
    PairedCounts counts(2, 1);
    if (document < 4) {
      for (int i = 0; i < 5; ++i) counts.add_case();
      counts.add_head_hits(0, heads[document]);
      for (int i = 0; i < rules[document]; ++i) counts.add_rule_hit(1);
      const double difference = heads[document] - rules[document];
      sum += difference;
      squares += difference * difference;
    }
    counts.add_to(part, "test");
    part.end();
  }
  const PairedSums sums(statistics, "test", 2);
  EXPECT_EQ(sums.n_document(), 4) << "the last has no case";
  EXPECT_EQ(sums.n_case(), 20);
  EXPECT_DOUBLE_EQ(sums.p(0, 1), paired_t_p(4, sum, squares) / 2);
  EXPECT_EQ(PairedSums(statistics, "other", 2).n_document(), 0);
  EXPECT_TRUE(std::isnan(PairedSums(statistics, "other", 2).p(0, 1)));
}

TEST(PairedSums, ProductsOfNumbersBeyondFloat32AreExact) {
  // 4099 x 4101 is above 2^24 and odd.
  Statistics statistics;
  for (std::uint64_t document = 0; document < 4; ++document) {
    DocumentStatistics part(statistics, document);
    PairedCounts counts(1, 1);
    counts.add_case();
    for (int i = 0; i < 4099; ++i) counts.add_rule_hit(0);
    counts.add_head_hits(0, document < 3 ? 4101 : 4100);
    counts.add_to(part, "test");
    part.end();
  }
  // Differences of 2, 2, 2 and 1.
  EXPECT_DOUBLE_EQ(PairedSums(statistics, "test", 1).p(0, 0), paired_t_p(4, 7, 13) / 2);
}

TEST(PairedSums, HeadsEqualToTheRuleInEveryDocumentAreNoEvidence) {
  Statistics statistics;
  for (std::uint64_t document = 0; document < 12; ++document) {
    DocumentStatistics part(statistics, document);
    PairedCounts counts(1, 3);
    for (int i = 0; i < 3; ++i) counts.add_case();
    counts.add_rule_hit(0);
    for (Index head_index = 0; head_index < 3; ++head_index)
      counts.add_head_hits(head_index, static_cast<double>(head_index));
    counts.add_to(part, "test");
    part.end();
  }
  const PairedSums sums(statistics, "test", 1);
  EXPECT_EQ(sums.p(0, 0), 1);
  EXPECT_EQ(sums.p(1, 0), 1);
  EXPECT_EQ(sums.p(2, 0), 0);
}

}  // namespace
}  // namespace headscope
