#include <gtest/gtest.h>

#include <cmath>

#include "document_estimates.hpp"
#include "score_model/effects.hpp"
#include "score_model/score_results.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

/// The mean of numbers, one a document and block.
BlockStatistic mean_of(const std::vector<double>& values) {
  return [values](const BootstrapCounts& counts) {
    const std::vector<double> ones(values.size(), 1);
    return std::vector<double>{weighted_sum(values, counts) / weighted_sum(ones, counts)};
  };
}

TEST(DocumentEstimates, OfFewDocumentsHaveStudentsInterval) {
  const std::vector<double> values{1, 2, 4, 5};
  const Estimate estimate = estimates_of_documents({1, 1, 1, 1}, mean_of(values), 100, 0).front();
  EXPECT_DOUBLE_EQ(estimate.value, 3);
  // Standard deviation sqrt(10 / 3); Student's t with 3 degrees of freedom has 97.5 %
  // below 3.18245.
  const double half_width = 3.18244630528371 * std::sqrt(10.0 / 3 / 4);
  EXPECT_NEAR(estimate.low, 3 - half_width, 1e-12);
  EXPECT_NEAR(estimate.high, 3 + half_width, 1e-12);
}

TEST(DocumentEstimates, OfOneDocumentOrWithoutResamplesHaveNoInterval) {
  EXPECT_FALSE(estimates_of_documents({1, 0}, mean_of({1, 2}), 100, 0).front().has_interval());
  EXPECT_FALSE(estimates_of_documents({1, 1}, mean_of({1, 2}), 0, 0).front().has_interval());
}

TEST(DocumentEstimates, OfManyDocumentsAreThoseOfTheBootstrap) {
  std::vector<double> values, documents;
  for (int i = 0; i < 30; ++i) {
    values.push_back(std::sqrt(i));
    documents.push_back(1);
  }
  const Estimate estimate = estimates_of_documents(documents, mean_of(values), 100, 5).front(),
                 expected =
                     Bootstrap::of_documents(documents, 100, 5).estimates(mean_of(values)).front();
  EXPECT_EQ(estimate.low, expected.low);
  EXPECT_EQ(estimate.high, expected.high);
}

// On each of 20 documents of 10 tokens, 2 nats each, the mean in place of the first head's z costs
// 1e-7 nats a token, which is less than float32 rounds 2 nats to, and of the second head's 0.1.
TEST(ScoreEffects, AreKnownOfHeadsWithAMeasurableEffect) {
  Statistics statistics;
  for (std::size_t d = 0; d < least_documents; ++d) {
    DocumentStatistics document(statistics, d);
    document.sum(score_effect_documents, {n_document_block})(d) = 1;
    document.sum(score_effect_tokens, {n_document_block})(d) = 10;
    document.sum(score_clean_name, {n_document_block})(d) = 20;
    Array& losses = document.sum(score_loss_name(0), {n_document_block, 2, n_score_loss});
    for (std::size_t kind = 0; kind < n_score_loss; ++kind) {
      losses(d, 0, kind) = kind == score_mean ? 20 + 1e-6 : 20;
      // Intervals without width would show nothing.
      losses(d, 1, kind) = kind == score_mean ? (d % 2 == 0 ? 21 + 0x1p-20 : 21 - 0x1p-20) : 20.25;
    }
    document.end();
  }
  ResultsGroup group;
  group.name = "score_model";
  group.add_dimension(
      Dimension::labels("step", {score_step_names.begin(), score_step_names.end()}));
  group.add_dimension(Dimension::count("layer", 1));
  group.add_dimension(Dimension::count("head", 2));
  add_effects(statistics, {}, group);
  const Array& explained = group.values("effect_explained");
  EXPECT_TRUE(std::isnan(explained(0, 0, 0)));
  EXPECT_NEAR(explained(0, 0, 1), 0.75, test::double_rounding);
}

}  // namespace
}  // namespace headscope
