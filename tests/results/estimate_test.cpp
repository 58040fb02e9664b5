#include "headscope/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "headscope/random.hpp"
#include "headscope/resampling.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using testing::ElementsAre;

TEST(WeightedSum, CountsAUnitAsOftenAsTheResampleHasIt) {
  EXPECT_EQ(weighted_sum({1, 10, 100}, {2, 0, 1}), 102);
}

TEST(PercentileEstimate, AgreesWithNumpy) {
  // Expected values: numpy.percentile of NumPy 1.24, linear interpolation.
  const Estimate estimate = percentile_estimate(4, {5, 1, 4, 2, 3, 9, 7});
  EXPECT_EQ(estimate.value, 4);
  EXPECT_NEAR(estimate.low, 1.15, test::double_rounding);
  EXPECT_NEAR(estimate.high, 8.7, test::double_rounding);
}

TEST(PercentileEstimate, LeavesOutWhatIsNotANumber) {
  EXPECT_EQ(percentile_estimate(1, {NAN, 2, NAN}).low, 2);
  EXPECT_FALSE(percentile_estimate(1, {NAN}).has_interval());
  EXPECT_FALSE(percentile_estimate(1, {}).has_interval());
}

TEST(PercentileEstimate, WhatHasNoValueHasNoInterval) {
  EXPECT_FALSE(percentile_estimate(NAN, {1, 2, 3}).has_interval());
}

TEST(Estimate, IsAboveOrBelowOnlyWithAnIntervalThatHasWidth) {
  const Estimate wide{2, 1, 3}, point{2, 2, 2}, value{2};
  EXPECT_TRUE(wide.is_above(0.5));
  EXPECT_FALSE(wide.is_above(1));
  EXPECT_TRUE(wide.is_below(3.5));
  EXPECT_FALSE(wide.is_below(3));
  for (const Estimate& nothing : {point, value}) {
    EXPECT_FALSE(nothing.is_above(0));
    EXPECT_FALSE(nothing.is_below(9));
  }
}

TEST(Estimate, HasNoIntervalWithoutWidth) {
  EXPECT_TRUE(with_width({2, 1, 3}).has_interval());
  EXPECT_FALSE(with_width({2, 2, 2}).has_interval());
  EXPECT_EQ(with_width({2, 2, 2}).value, 2);
}

// Verdicts of an interval against each side of 2: below, at most, at least, above.
std::vector<Verdict> verdicts(double low, double high) {
  std::vector<Verdict> verdicts;
  for (const Side side : {Side::below, Side::at_most, Side::at_least, Side::above}) {
    verdicts.push_back(verdict_of({0, low, high}, side, 2));
  }
  return verdicts;
}

Estimate share_of(double n_with, double n_unit) {
  return with_score_interval({.value = n_with / n_unit, .low = 0.4, .high = 0.6}, n_unit);
}

// Expected values to ten digits.
TEST(ScoreInterval, IsWilsons) {
  EXPECT_EQ(share_of(38, 40).value, 0.95);
  EXPECT_NEAR(share_of(38, 40).low, 0.8349612263, 5e-11);
  EXPECT_NEAR(share_of(38, 40).high, 0.9861793326, 5e-11);
  EXPECT_NEAR(share_of(40, 40).low, 0.9123783988, 5e-11);
  EXPECT_EQ(share_of(40, 40).high, 1);
  EXPECT_EQ(share_of(0, 40).low, 0);
  EXPECT_NEAR(share_of(0, 40).high, 0.0876216012, 5e-11);
}

// At these shares of 40 units it covers 0.943 to 0.966 of binomial samples, where resampled
// percentiles cover 0.55 to 0.97. The standard error of 4000 samples is 0.0034, of which the bounds
// are four away.
TEST(ScoreInterval, CoversSharesNearOne) {
  constexpr std::size_t n_unit = 40, n_sample = 4000;
  for (const double share : {0.6, 0.9, 0.95, 0.98}) {
    const CounterRandom random(7, static_cast<std::uint64_t>(1000 * share));
    std::size_t n_covered = 0;
    for (std::size_t sample = 0; sample < n_sample; ++sample) {
      double n_with = 0;
      for (std::size_t i = 0; i < n_unit; ++i) {
        if (static_cast<double>(random.below(1000, sample * n_unit + i)) < 1000 * share) ++n_with;
      }
      const Estimate estimate = share_of(n_with, n_unit);
      if (estimate.low <= share && share <= estimate.high) ++n_covered;
    }
    EXPECT_NEAR(static_cast<double>(n_covered) / n_sample, 0.955, 0.025) << share;
  }
}

TEST(ScoreInterval, WithoutAnIntervalThereIsNone) {
  EXPECT_FALSE(with_score_interval({.value = 1}, 40).has_interval());
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

TEST(BootstrapEstimate, OfSymmetricSamplesAroundTheValueIsTheirPercentiles) {
  std::vector<double> samples;
  for (int i = 0; i <= 200; ++i) samples.push_back(i);
  const Estimate estimate = bootstrap_estimate(100, samples);
  // Normal quantiles are exact to rounding, here of up to 200.
  EXPECT_NEAR(estimate.low, 5, 1e-12);
  EXPECT_NEAR(estimate.high, 195, 1e-12);
}

TEST(BootstrapEstimate, MovesAwayFromTheSideOnWhichTheSamplesLie) {
  std::vector<double> samples;
  for (int i = 0; i <= 200; ++i) samples.push_back(i);
  // 61 of 201 samples lie below 60.5: z0 = -0.51441. Efron 1987: the percentiles at
  // Phi(2 z0 -+ 1.959964), without acceleration, which SciPy 1.10 gives as 0.00140045, 0.8241103;
  // their last digits, times 200.
  const Estimate estimate = bootstrap_estimate(60.5, samples);
  EXPECT_NEAR(estimate.low, 200 * 0.00140045, 1e-6);
  EXPECT_NEAR(estimate.high, 200 * 0.8241103, 1e-5);
  // Below all samples it begins at the least, to what is left of a normal tail at -7.6.
  EXPECT_NEAR(bootstrap_estimate(-1, samples).low, 0, 1e-11);
}

TEST(BootstrapEstimate, FollowsTheSkewnessOfTheSamples) {
  std::vector<double> samples;
  for (int i = 0; i <= 200; ++i) samples.push_back(i * i);
  const Estimate plain = percentile_estimate(10000, samples),
                 skewed = bootstrap_estimate(10000, samples);
  EXPECT_GT(skewed.low, plain.low);
  EXPECT_GT(skewed.high, plain.high);
}

TEST(BootstrapEstimate, NoValueAndNoSamplesHaveNoInterval) {
  EXPECT_FALSE(bootstrap_estimate(NAN, {1, 2, 3}).has_interval());
  EXPECT_FALSE(bootstrap_estimate(1, {NAN}).has_interval());
  EXPECT_EQ(bootstrap_estimate(2, {2, 2, NAN}).high, 2);
}

TEST(DocumentBlock, OfFewDocumentsIsTheDocumentAndOfManyAHashThatKeepsTheParity) {
  for (std::uint64_t d = 0; d < n_document_block; ++d) {
    EXPECT_EQ(document_block(d, n_document_block), d);
  }
  constexpr std::uint64_t n_document = 100 * n_document_block;
  std::vector<double> size(n_document_block, 0);
  double next_to_each_other = 0;
  for (std::uint64_t d = 0; d < n_document; ++d) {
    const std::size_t block = document_block(d, n_document);
    ASSERT_LT(block, n_document_block);
    EXPECT_EQ(block % 2, d % 2);
    ++size[block];
    if (document_block(d + n_document_block, n_document) == block) ++next_to_each_other;
  }
  // Sizes are Poisson of mean 100; six standard deviations.
  for (const double n : size) EXPECT_NEAR(n, 100, 60);
  EXPECT_NEAR(next_to_each_other, n_document / 64.0, 6 * std::sqrt(n_document / 64.0))
      << "a period of 128 means nothing";
}

TEST(Bootstrap, DrawsSoManyUnitsThatPercentilesAreStudents) {
  // (n - 1) (1.959964 / t)^2 with t of n - 1 degrees of freedom, from SciPy 1.10.
  for (const auto& [n, n_draw] : std::vector<std::pair<std::size_t, std::size_t>>{
           {2, 1}, {5, 2}, {10, 7}, {20, 17}, {30, 27}, {128, 125}}) {
    const Bootstrap bootstrap(n, 50, 1);
    for (std::size_t index = 0; index < bootstrap.n_resample(); ++index) {
      const auto weights = bootstrap.draw(index);
      ASSERT_EQ(weights.size(), n);
      EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), 0u), n_draw) << n;
    }
  }
}

// Intervals of the mean of 20 skewed values cover the truth about as often as they say.
TEST(Bootstrap, IntervalsOfAMeanCoverIt) {
  constexpr std::size_t n = 20, n_trial = 600;
  std::size_t n_covered = 0;
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = -std::log(1 - CounterRandom(5, trial).uniform(i));  // exponential, mean 1
    }
    const Estimate mean = Bootstrap(n, 400, trial).estimates([&](const BootstrapCounts& weights) {
      return std::vector<double>{
          std::inner_product(weights.begin(), weights.end(), values.begin(), 0.0) /
          std::accumulate(weights.begin(), weights.end(), 0.0)};
    })[0];
    if (mean.low <= 1 && 1 <= mean.high) ++n_covered;
  }
  // Percentiles of 20 draws cover 0.90 here; the standard error of the share is 0.01.
  EXPECT_GT(static_cast<double>(n_covered) / n_trial, 0.92);
  EXPECT_LT(static_cast<double>(n_covered) / n_trial, 0.98);
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
    const double n_drawn = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) resampled += weights[i] * values[i] / n_drawn;
    spread += (resampled - mean) * (resampled - mean) / 4000;
  }
  // 47 of 50 units are drawn. The variance over 4000 draws has a standard error of 2.2 %; four
  // standard errors.
  EXPECT_NEAR(spread / (variance / 47), 1, 0.09);
}

TEST(Bootstrap, ABlockWithoutDocumentsIsNeverDrawn) {
  const Bootstrap bootstrap = Bootstrap::of_documents({30, 0, 1, 0}, 50, 1);
  ASSERT_EQ(bootstrap.n_resample(), 50u);
  for (std::size_t index = 0; index < bootstrap.n_resample(); ++index) {
    const BootstrapCounts weights = bootstrap.draw(index);
    EXPECT_EQ(weights[0] + weights[2], 1u) << "of two units one is drawn";
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

/// Mean of the drawn values.
double mean_of(const std::vector<double>& values, const BootstrapCounts& weights) {
  return std::inner_product(weights.begin(), weights.end(), values.begin(), 0.0) /
         std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(Bootstrap, IntervalsAreStudentisedByTheJackknife) {
  // Expected widths: studentised_half_width of tests/reference/plain_gpt2.py.
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6};
  const Bootstrap bootstrap(values.size(), 200, 7);
  const std::vector<Estimate> estimates = bootstrap.estimates([&](const BootstrapCounts& weights) {
    const double mean = mean_of(values, weights);
    return std::vector<double>{mean, 1 / mean, NAN, 7};
  });
  ASSERT_EQ(estimates.size(), 4u);
  EXPECT_EQ(estimates[0].value, 3.875);
  EXPECT_NEAR(estimates[0].high - estimates[0].value, 2.2324317480418436, test::double_rounding);
  EXPECT_NEAR(estimates[0].value - estimates[0].low, 2.2324317480418436, test::double_rounding);
  EXPECT_NEAR(estimates[1].high - estimates[1].value, 0.18476244417910587, test::double_rounding);
  EXPECT_FALSE(estimates[2].has_interval());
  EXPECT_EQ(estimates[3].low, 7);
  EXPECT_EQ(estimates[3].high, 7);
  EXPECT_TRUE(estimates[0].resamples.empty());
  // A mean without one of eight values: the value's own distance from the mean.
  ASSERT_EQ(estimates[0].influences.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(estimates[0].influences[i], values[i] - 3.875, 1e-6);
  }
}

TEST(Bootstrap, PairedDifferencesAreThoseOfTheUnits) {
  constexpr std::size_t n = 24;
  const Bootstrap bootstrap(n, 1000, 0);
  const auto means = [&](const std::vector<double>& values) {
    return bootstrap.estimates([&](const BootstrapCounts& weights) {
      return std::vector<double>{mean_of(values, weights)};
    });
  };
  const CounterRandom random(3, 0);
  std::vector<double> before, after, change;
  for (std::size_t i = 0; i < n; ++i) {
    before.push_back(10 * random.uniform(2 * i));
    change.push_back(0.1 + 0.2 * random.uniform(2 * i + 1));
    after.push_back(before.back() + change.back());
  }
  const Estimate found = paired_differences(means(after), means(before)).front(),
                 expected = means(change).front();
  EXPECT_NEAR(found.value, expected.value, 1e-12);
  // Influences are float32: those of values up to 10.
  EXPECT_NEAR(found.low, expected.low, 1e-6);
  EXPECT_NEAR(found.high, expected.high, 1e-6);
  EXPECT_LT(found.high - found.low, 0.1 * (means(after)[0].high - means(after)[0].low));
  // Of as many parts alone.
  const Bootstrap fewer(n - 1, 1000, 0);
  const std::vector<Estimate> of_fewer = fewer.estimates([&](const BootstrapCounts& weights) {
    return std::vector<double>{mean_of(before, weights)};
  });
  EXPECT_FALSE(paired_differences(means(after), of_fewer).front().has_interval());
}

// One unit of twenty changes: over a twentieth of the resamples miss it, and t is infinite.
TEST(Bootstrap, PairedDifferencesOfFewUnitsHaveResampledIntervals) {
  constexpr std::size_t n = 20;
  const Bootstrap bootstrap(n, 1000, 0);
  const auto mean_with = [&](double first) {
    return bootstrap.estimates([&](const BootstrapCounts& weights) {
      std::vector<double> values(n);
      std::iota(values.begin(), values.end(), 0.0);
      values[0] = first;
      return std::vector<double>{mean_of(values, weights)};
    });
  };
  const Estimate difference = paired_differences(mean_with(8), mean_with(0)).front();
  EXPECT_NEAR(difference.value, 0.4, 1e-12);
  EXPECT_LE(difference.low, 0) << "shows no change";
  EXPECT_NEAR(difference.low, 0, 1e-6);
  EXPECT_GT(difference.high, 0.8);
  EXPECT_LT(difference.high, 2);
  const Estimate none = paired_differences(mean_with(8), mean_with(8)).front();
  EXPECT_EQ(none.value, 0);
  EXPECT_FALSE(none.has_interval());
}

// t is infinite for a value that one unit makes, but not for the difference.
TEST(Bootstrap, PairedDifferencesOfValuesOfFewUnitsAreStudentisedWhereTheyCanBe) {
  constexpr std::size_t n = 20;
  const Bootstrap bootstrap(n, 1000, 0);
  const auto mean_with = [&](double first, double slope) {
    return bootstrap.estimates([&](const BootstrapCounts& weights) {
      std::vector<double> values(n, 0);
      for (std::size_t i = 0; i < n; ++i) values[i] = slope * static_cast<double>(i % 5);
      values[0] += first;
      return std::vector<double>{mean_of(values, weights)};
    });
  };
  const std::vector<Estimate> first = mean_with(1000, 0), later = mean_with(1000, 1),
                              change = mean_with(0, 1);
  EXPECT_GT(first[0].high - first[0].value, first[0].value - first[0].low) << "not symmetric";
  EXPECT_EQ(first[0].influences.size(), n);
  EXPECT_TRUE(first[0].resamples.empty());
  const Estimate difference = paired_differences(later, first).front();
  EXPECT_NEAR(difference.low, change[0].low, 1e-4);
  EXPECT_NEAR(difference.high, change[0].high, 1e-4);
}

// Three units of 24 make the value, and t is large.
TEST(Bootstrap, PairedDifferencesReachNoFurtherThanTheBoundsOfBothValues) {
  constexpr std::size_t n = 24;
  std::vector<float> of_few(n, 0), of_none(n, 0);
  of_few[3] = of_few[7] = 2.1F;
  of_few[9] = 1.3F;
  const auto difference = [&](double margin) {
    return paired_differences({{0.74, 0.74 - margin, 0.74 + margin, {}, of_few}},
                              {{0.2, 0.17, 0.26, {}, of_none}})
        .front();
  };
  const Estimate wide = difference(10), narrow = difference(0.06);
  EXPECT_GT(wide.high - wide.low, 0.5);
  EXPECT_NEAR(narrow.low, 0.68 - 0.26, 1e-12);
  EXPECT_NEAR(narrow.high, 0.8 - 0.17, 1e-12);
}

TEST(Bootstrap, PairedDifferencesThatDoNotDifferBeyondRoundingHaveNoInterval) {
  const std::vector<Estimate> resampled{{0.025, 0, 0.05, {0, 0.025F, 0.05F}, {}}},
      higher{{0.075, 0.05, 0.1, {0.05F, 0.075F, 0.1F}, {}}};
  const Estimate difference = paired_differences(higher, resampled).front();
  EXPECT_NEAR(difference.value, 0.05, 1e-12);
  EXPECT_FALSE(difference.has_interval());
  const std::vector<float> influences{0.5F, -0.25F, -0.25F};
  std::vector<float> rounded = influences;
  rounded[0] = std::nextafter(rounded[0], 1.0F);
  const Estimate none =
      paired_differences({{1 + 1e-9, 0, 2, {}, rounded}}, {{1, 0, 2, {}, influences}}).front();
  EXPECT_NEAR(none.value, 1e-9, 1e-12);
  EXPECT_FALSE(none.has_interval());
}

TEST(Bootstrap, PairedDifferencesOfResampledValuesAreTheirCentralNinetyFivePercent) {
  std::vector<double> before, after;
  for (std::size_t i = 0; i <= 100; ++i) {
    before.push_back(static_cast<double>(i % 7));
    after.push_back(before.back() + static_cast<double>(i));
  }
  const std::vector<Estimate> first{bootstrap_estimate(3, before)},
      later{bootstrap_estimate(53, after)};
  const Estimate difference = paired_differences(later, first).front();
  EXPECT_EQ(difference.value, 50);
  EXPECT_NEAR(difference.low, 2.5, 1e-12);
  EXPECT_NEAR(difference.high, 97.5, 1e-12);
  // One by influences, the other by resamples.
  const std::vector<Estimate> studentised =
      Bootstrap(20, 200, 0).estimates([](const BootstrapCounts& weights) {
        return std::vector<double>{mean_of(std::vector<double>(20, 1), weights)};
      });
  const Estimate mixed = paired_differences(studentised, first).front();
  EXPECT_EQ(mixed.value, -2);
  EXPECT_FALSE(mixed.has_interval());
}

// Of a ratio few large units decide: a resampled ratio varies too little.
TEST(Bootstrap, IntervalsOfARatioOfUnequalUnitsCoverIt) {
  constexpr std::size_t n = 30, n_trial = 400;
  std::size_t n_covered = 0;
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    const CounterRandom random(8, trial);
    std::vector<double> sums(n), sizes(n);
    for (std::size_t i = 0; i < n; ++i) {
      // Sizes of a log-normal distribution of variance 1, each unit's own mean around 0.5.
      const double normal = std::sqrt(-2 * std::log(1 - random.uniform(3 * i))) *
                            std::cos(2 * std::numbers::pi * random.uniform(3 * i + 1));
      sizes[i] = std::exp(normal);
      sums[i] = sizes[i] * (0.4 + 0.2 * random.uniform(3 * i + 2));
    }
    const Estimate ratio = Bootstrap(n, 400, trial).estimates([&](const BootstrapCounts& weights) {
      return std::vector<double>{mean_of(sums, weights) / mean_of(sizes, weights)};
    })[0];
    if (ratio.low <= 0.5 && 0.5 <= ratio.high) ++n_covered;
  }
  // The standard error of the share is 0.011; the bounds are three away from 0.95.
  EXPECT_GT(static_cast<double>(n_covered) / n_trial, 0.92);
  EXPECT_LT(static_cast<double>(n_covered) / n_trial, 0.985);
}

TEST(Bootstrap, AValueThatASingleUnitDecidesHasTheIntervalOfItsDraws) {
  const std::vector<Estimate> estimates =
      Bootstrap(20, 200, 1).estimates([](const BootstrapCounts& weights) {
        const double only = weights[3] > 0 ? 5.0 : NAN;
        const double mostly =
            5.0 * weights[3] / std::accumulate(weights.begin(), weights.end(), 0.0);
        return std::vector<double>{only, mostly};
      });
  EXPECT_EQ(estimates[0].value, 5);
  EXPECT_FALSE(estimates[0].has_interval()) << "no value without the unit";
  EXPECT_EQ(estimates[1].value, 0.25);
  // A third of the draws miss the unit, so that t is infinite.
  EXPECT_EQ(estimates[1].low, 0);
  EXPECT_GT(estimates[1].high, 0.3);
}

TEST(Bootstrap, AnOutlierDoesNotWidenTheIntervalBeyondUse) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 24; ++i) values.push_back(1.3 + 0.01 * static_cast<double>(i % 7));
  values[5] = 7;
  const Estimate mean = Bootstrap(24, 400, 1).estimates([&](const BootstrapCounts& weights) {
    return std::vector<double>{mean_of(values, weights)};
  })[0];
  // Resamples without the outlier vary so little that t is above 40.
  EXPECT_GT(mean.low, 1.3);
  EXPECT_LT(mean.high, 3);
}

TEST(Bootstrap, PartsOfManyUnitsAreBlocks) {
  constexpr std::size_t n = 3 * n_document_block;
  const Bootstrap bootstrap(n, 50, 1);
  ASSERT_EQ(bootstrap.n_left_out(), n_document_block);
  std::vector<std::size_t> times_left_out(n, 0);
  for (std::size_t part = 0; part < n_document_block; ++part) {
    const BootstrapCounts weights = bootstrap.without(part);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(weights[i], document_block(i, n) == part ? 0u : 1u);
      times_left_out[i] += 1 - weights[i];
    }
  }
  EXPECT_THAT(times_left_out, testing::Each(1u));
  const Bootstrap few = Bootstrap::of_documents({9, 0, 12}, 50, 1);
  ASSERT_EQ(few.n_left_out(), 2u);
  EXPECT_THAT(few.without(1), ElementsAre(1u, 1u, 0u));
  EXPECT_EQ(Bootstrap(1, 50, 1).n_left_out(), 0u);
}

TEST(Within, MovesBoundsIntoTheRange) {
  const Estimate estimate = within({0.9, 0.7, 1.1}, 0, 1);
  EXPECT_EQ(estimate.low, 0.7);
  EXPECT_EQ(estimate.high, 1);
  EXPECT_EQ(within({0.1, -0.1, 0.3}, 0, 1).low, 0);
  EXPECT_FALSE(within({.value = 0.5}, 0, 1).has_interval());
}

TEST(Bootstrap, OneUnitGivesAValueWithoutAnInterval) {
  const std::vector<Estimate> estimates = Bootstrap(1, 200, 1).estimates(
      [&](const BootstrapCounts& weights) { return std::vector<double>{7.0 * weights[0]}; });
  EXPECT_EQ(estimates[0].value, 7);
  EXPECT_FALSE(estimates[0].has_interval());
}

}  // namespace
}  // namespace headscope
