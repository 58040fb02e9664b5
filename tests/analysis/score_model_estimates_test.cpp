#include <gtest/gtest.h>

#include <cmath>

#include "score_model/document_estimates.hpp"
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

}  // namespace
}  // namespace headscope
