#include "headscope/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "headscope/random.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

TEST(PercentileEstimate, AgreesWithNumpy) {
  // Expected values: numpy.percentile of NumPy 1.24, linear interpolation.
  const Estimate estimate = percentile_estimate(4, {5, 1, 4, 2, 3, 9, 7});
  EXPECT_EQ(estimate.value, 4);
  EXPECT_NEAR(estimate.low, 1.15, 1e-14);
  EXPECT_NEAR(estimate.high, 8.7, 1e-14);
}

TEST(PercentileEstimate, LeavesOutWhatIsNotANumber) {
  EXPECT_EQ(percentile_estimate(1, {NAN, 2, NAN}).low, 2);
  EXPECT_FALSE(percentile_estimate(1, {NAN}).has_interval());
  EXPECT_FALSE(percentile_estimate(1, {}).has_interval());
}

TEST(PercentileEstimate, WhatHasNoValueHasNoInterval) {
  EXPECT_FALSE(percentile_estimate(NAN, {1, 2, 3}).has_interval());
}

// Verdicts of an interval against each side of 2: below, at most, at least, above.
std::vector<Verdict> verdicts(double low, double high) {
  std::vector<Verdict> verdicts;
  for (const Side side : {Side::below, Side::at_most, Side::at_least, Side::above}) {
    verdicts.push_back(verdict_of({0, low, high}, side, 2));
  }
  return verdicts;
}

TEST(Verdict, IsOfTheWholeIntervalAndTheThresholdBelongsToAtMostAndAtLeast) {
  constexpr Verdict yes = Verdict::holds, no = Verdict::does_not_hold, open = Verdict::undecided;
  EXPECT_THAT(verdicts(0, 1), ElementsAre(yes, yes, no, no));
  EXPECT_THAT(verdicts(1, 2), ElementsAre(open, yes, open, open));
  EXPECT_THAT(verdicts(1, 3), ElementsAre(open, open, open, open));
  EXPECT_THAT(verdicts(2, 3), ElementsAre(open, open, yes, open));
  EXPECT_THAT(verdicts(3, 4), ElementsAre(no, no, yes, yes));
  EXPECT_THAT(verdicts(NAN, NAN), ElementsAre(open, open, open, open));
}

TEST(Bootstrap, DrawsAsManyUnitsAsThereAre) {
  const Bootstrap bootstrap(37, 50, 1);
  for (std::size_t index = 0; index < bootstrap.n_resample(); ++index) {
    const auto weights = bootstrap.draw(index);
    ASSERT_EQ(weights.size(), 37u);
    EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), 0u), 37u);
  }
}

TEST(Bootstrap, RepeatsFromItsSeedAndDiffersBetweenSeeds) {
  const Bootstrap a(20, 10, 1), same(20, 10, 1), other(20, 10, 2);
  EXPECT_EQ(a.draw(3), same.draw(3));
  EXPECT_NE(a.draw(3), a.draw(4));
  EXPECT_NE(a.draw(3), other.draw(3));
}

// All resamples of one unit are equal; an interval of width zero would look certain.
TEST(Bootstrap, OneUnitIsNotResampled) {
  EXPECT_EQ(Bootstrap(1, 100, 1).n_resample(), 0u);
  EXPECT_EQ(Bootstrap(2, 100, 1).n_resample(), 100u);
}

TEST(Bootstrap, TooFewResamplesForAnIntervalAreNone) {
  EXPECT_EQ(Bootstrap(5, 1, 1).n_resample(), 0u);
  EXPECT_EQ(Bootstrap(5, least_resamples - 1, 1).n_resample(), 0u);
  EXPECT_EQ(Bootstrap(5, least_resamples, 1).n_resample(), least_resamples);
}

TEST(Bootstrap, SpreadOfTheMeanIsTheStandardError) {
  constexpr std::size_t n = 50;
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = CounterRandom(9).uniform(i);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / n;

  const Bootstrap bootstrap(n, 4000, 11);
  double spread = 0;
  for (std::size_t index = 0; index < bootstrap.n_resample(); ++index) {
    const auto weights = bootstrap.draw(index);
    double resampled = 0;
    for (std::size_t i = 0; i < n; ++i) resampled += weights[i] * values[i] / n;
    spread += (resampled - mean) * (resampled - mean) / 4000;
  }
  // The variance over 4000 draws has a standard error of 2.2 %; four standard errors.
  EXPECT_NEAR(spread / (variance / n), 1, 0.09);
}

TEST(Bootstrap, ABlockWithoutDocumentsIsNeverDrawn) {
  const Bootstrap bootstrap = Bootstrap::of_documents({30, 0, 1, 0}, 50, 1);
  ASSERT_EQ(bootstrap.n_resample(), 50u);
  for (std::size_t index = 0; index < bootstrap.n_resample(); ++index) {
    const Weights weights = bootstrap.draw(index);
    EXPECT_EQ(weights[0] + weights[2], 2u);
    EXPECT_EQ(weights[1] + weights[3], 0u);
  }
  EXPECT_EQ(Bootstrap::of_documents({30, 0}, 50, 1).n_resample(), 0u) << "a single block";
}

TEST(Bootstrap, FewerThanTwentyDocumentsAreNotResampled) {
  const auto n_resample = [](const std::vector<double>& documents_per_block) {
    return Bootstrap::of_documents(documents_per_block, 50, 1).n_resample();
  };
  EXPECT_EQ(n_resample(std::vector<double>(19, 1)), 0u);
  EXPECT_EQ(n_resample(std::vector<double>(20, 1)), 50u);
  EXPECT_EQ(n_resample({10, 9}), 0u);
  EXPECT_EQ(n_resample({10, 10}), 50u);
}

TEST(Bootstrap, EstimatesAreOfTheWholeWithTheIntervalOfTheResamples) {
  const std::vector<double> values{1, 5};
  const std::vector<Estimate> estimates =
      Bootstrap(2, 200, 1).estimates([&](const Weights& weights) {
        const double mean = (weights[0] * values[0] + weights[1] * values[1]) / 2;
        return std::vector<double>{mean, -mean, NAN};
      });
  ASSERT_EQ(estimates.size(), 3u);
  EXPECT_EQ(estimates[0].value, 3);
  EXPECT_EQ(estimates[0].low, 1);
  EXPECT_EQ(estimates[0].high, 5);
  EXPECT_EQ(estimates[1].low, -5);
  EXPECT_FALSE(estimates[2].has_interval());
}

TEST(Bootstrap, OneUnitGivesAValueWithoutAnInterval) {
  const std::vector<Estimate> estimates = Bootstrap(1, 200, 1).estimates(
      [&](const Weights& weights) { return std::vector<double>{7.0 * weights[0]}; });
  EXPECT_EQ(estimates[0].value, 7);
  EXPECT_FALSE(estimates[0].has_interval());
}

}  // namespace
}  // namespace headscope
