#include "comparison/change_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headscope/comparison.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

TEST(IsChanged, IntervalsWithoutWidthShowNoChange) {
  const Estimate none, five{5, 5, 5}, six{6, 6, 6}, wide{5, 4, 5.5};
  EXPECT_FALSE(is_changed(five, six, {1, 1, 1}));
  EXPECT_FALSE(is_changed(five, six, none));
  EXPECT_TRUE(is_changed(wide, six, none));
  EXPECT_TRUE(is_changed(wide, six, {1, 0.5, 2}));
  EXPECT_TRUE(is_changed(wide, six, {1, 1, 1})) << "goes by the two intervals";
}

/// The interval as one over parts.
Estimate of_parts(Estimate estimate, std::size_t n_part) {
  estimate.influences.assign(n_part, 1);
  return estimate;
}

/// The interval as one of resamples.
Estimate of_resamples(Estimate estimate) {
  estimate.resamples.assign(200, 1);
  return estimate;
}

TEST(POfChange, IsThatOfTheDifferenceInHalfWidthsOnTheSideOfZero) {
  const Estimate low{0, -9, 9}, high{3, -9, 9};
  // SciPy: 2 * t.cdf(-1.5 * t.ppf(0.975, 20), 20), with 1 for 20, and with norm.
  constexpr double of_twenty = 0.005285921049543155, of_one = 0.03337144181721042,
                   of_normal = 0.0032826947645419173;
  const auto p = [](const Estimate& first, const Estimate& later) {
    const double up = later.value > first.value ? 1 : -1;
    return p_of_change(first, later, {3 * up, std::min(up, 9 * up), std::max(up, 9 * up)});
  };
  for (const auto& [first, later] : {std::pair(low, high), std::pair(high, low)}) {
    EXPECT_NEAR(p(of_parts(first, 21), of_parts(later, 21)), of_twenty, 1e-12);
    EXPECT_NEAR(p(of_resamples(first), of_resamples(later)), of_normal, 1e-12);
    EXPECT_NEAR(p(first, later), of_one, 1e-12) << "maybe of two documents";
  }
  EXPECT_NEAR(p_of_change(low, high, {3, 0, 4}), 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(p_of_change(low, low, {0, -1, 1}), 1);
}

TEST(POfChange, GoesByBothIntervalsWhereTheDifferenceHasNone) {
  // Half-widths 3 and 4 on the sides that face each other make 5; the difference is 7.5.
  const Estimate none, first = of_parts({1, -5, 4}, 21), later = of_parts({8.5, 4.5, 50}, 40);
  for (const Estimate& difference : {Estimate{7.5}, Estimate{7.5, 7.5, 7.5}}) {
    EXPECT_NEAR(p_of_change(first, later, difference), 0.005285921049543155, 1e-12);
    EXPECT_NEAR(p_of_change(later, first, difference), 0.005285921049543155, 1e-12);
  }
  EXPECT_TRUE(std::isnan(p_of_change(first, {6}, none)));
  EXPECT_TRUE(std::isnan(p_of_change({6}, first, none)));
  EXPECT_TRUE(std::isnan(p_of_change({1, 1, 1}, {2, 2, 2}, none))) << "no width";
}

constexpr std::size_t n_document = 40, n_score = 8, n_head_total = 24;

/// A value of each score and head for each document.
using Documents = std::vector<std::vector<double>>;

/// A run of 4 layers of 6 heads whose scores are means over documents.
ComparedRun of_means(const std::string& label, const Documents& documents) {
  std::vector<Estimate> estimates(n_score * n_head_total);
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    double mean = 0;
    for (const auto& document : documents) mean += document[i] / n_document;
    estimates[i] = {mean, mean - 1, mean + 1};
    for (const auto& document : documents) {
      estimates[i].influences.push_back(static_cast<float>(document[i] - mean));
    }
  }
  ComparedRun run;
  run.label = label;
  run.path = label + "/results.h5";
  run.results.attributes = {{"corpus_sha256", std::string("sky")},
                            {"n_document", std::int64_t{n_document}},
                            {"version", std::string("1")},
                            {"git_commit", std::string("a")},
                            {"seed", std::int64_t{0}}};
  ResultsGroup group;
  group.name = "weather";
  group.add_dimension(Dimension::labels("score", {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"}));
  group.add_dimension(Dimension::count("layer", 4));
  group.add_dimension(Dimension::count("head", 6));
  group.add({"rain", "score layer head", "mm", "rain", "A source", "documents resampled"},
            estimates);
  run.results.groups = {group};
  return run;
}

/// Values of two runs that have nothing to tell them apart: by document, one of them, at random,
/// has 0 and the other numbers around 1 that have a part in common.
std::pair<Documents, Documents> exchanged(std::uint64_t trial) {
  const CounterRandom random(5, trial);
  std::uint64_t counter = 0;
  const auto normal = [&] {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform(counter++)));
    return radius * std::cos(2 * std::numbers::pi * random.uniform(counter++));
  };
  const std::vector<double> none(n_score * n_head_total, 0);
  Documents first(n_document, none), later = first;
  for (std::size_t d = 0; d < n_document; ++d) {
    const double common = normal();
    const bool is_first = random.uniform(counter++) < 0.5;
    for (double& value : is_first ? first[d] : later[d]) value = 1 + 0.7 * (common + normal());
  }
  return {first, later};
}

/// What a comparison of the two runs finds, and its finding about heads.
std::pair<ResultsGroup, std::string> compared(const Documents& first, const Documents& later) {
  const std::vector<Presentation> presentations{{.group = "weather"}};
  Results results;
  results.groups = {
      compare_runs({of_means("a", first), of_means("b", later)}, command_line_order, presentations)
          .group};
  const Description said = comparison_presentation(presentations).describe(results);
  return {results.groups[0], said.findings.at(1).text};
}

TEST(ChangeTests, NameNoScoreOfRunsThatChanceAloneTellsApart) {
  constexpr std::size_t n_trial = 40;
  std::size_t n_named = 0;
  double n_changed = 0;
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    const auto [first, later] = exchanged(trial);
    const auto [group, said] = compared(first, later);
    if (!said.starts_with("No head differs from a beyond chance")) ++n_named;
    for (const double changed : group.values("weather_rain_changed").values) n_changed += changed;
  }
  // A simulation in NumPy names a score in 2 of 200 trials, and finds 0.046 of the values changed.
  EXPECT_LE(n_named, n_trial / 10);
  EXPECT_NEAR(n_changed / (n_trial * n_score * n_head_total), 0.05, 0.03);
}

TEST(ChangeTests, NameTheScoreInWhichOneHeadDiffers) {
  auto [first, later] = exchanged(0);
  constexpr std::size_t score = 3, at = score * n_head_total + 5;
  for (std::size_t d = 0; d < n_document; ++d) {
    first[d][at] = 0;
    later[d][at] = 0.75 + (d % 2 == 0 ? 1 : -1);  // 4.7 standard errors from 0
  }
  const auto [group, said] = compared(first, later);
  EXPECT_THAT(said,
              testing::StartsWith(
                  "Scores in which the most heads differ from a (q < 0.05 "
                  "over all heads and scores): weather rain, s3 (1 of 24 heads in b). In all, "));
  const std::vector<double>& q = group.values("weather_rain_changed_q").values;
  EXPECT_LT(q.at(n_score * n_head_total + at), 0.05);
  EXPECT_TRUE(std::isnan(q.at(at))) << "the first run is compared with none";
}

}  // namespace
}  // namespace headscope
