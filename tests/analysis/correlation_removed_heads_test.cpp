#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "correlation/correlation.hpp"
#include "correlation/results.hpp"
#include "correlation/sums.hpp"
#include "headscope/figure.hpp"
#include "headscope/prune.hpp"
#include "headscope/random.hpp"
#include "support/passes.hpp"
#include "support/planted.hpp"

namespace headscope {
namespace {

/// The correlations of the planted model, two layers of four heads, without some heads.
class CorrelationWithoutHeads : public testing::Test {
 protected:
  CorrelationWithoutHeads() {
    settings_.n_bootstrap = 20;
    settings_.options<CorrelationOptions>() = {.js_queries = 24, .cosine_all = false};
  }

  ResultsGroup results(const std::vector<HeadIndex>& heads, PruneMode mode) const {
    Model model = planted_.model;
    prune_heads(model, heads, mode);
    return test::Passes(correlation_analysis(), {model, &planted_.corpus, settings_})
        .results_of_all()
        .front();
  }

  const test::PlantedStories planted_{6};
  AnalysisSettings settings_;
};

TEST_F(CorrelationWithoutHeads, DistancesAndThePlaneAreOfTheHeadsThatAreLeft) {
  const std::vector<HeadIndex> lost{{0, 1}, {1, 3}};
  const arma::uvec left{0, 2, 3, 4, 5, 6};
  const ResultsGroup removed = results(lost, PruneMode::remove);
  const arma::mat distance = removed.values("js_distance").matrix(),
                  zeroed = results(lost, PruneMode::zero).values("js_distance").matrix(),
                  points = removed.values("mds").matrix();
  for (const Index head : {1, 7}) {
    EXPECT_EQ(arma::uvec(arma::find_nan(distance.col(head))).n_elem, 8u);
    EXPECT_TRUE(std::isnan(points(head, 0)));
    EXPECT_TRUE(std::isnan(points(head, 1)));
  }
  const arma::mat between_left = zeroed.submat(left, left);
  EXPECT_TRUE(arma::approx_equal(distance.submat(left, left), between_left, "absdiff", 0));
  EXPECT_TRUE(arma::approx_equal(
      points.rows(left), metric_mds(between_left, CounterRandom(settings_.seed, 3)), "absdiff", 0));
}

TEST_F(CorrelationWithoutHeads, TheStressIsThatOfTheHeadsThatAreLeft) {
  // Three points lie in a plane at any distances.
  const ResultsGroup group = results({{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 3}}, PruneMode::remove);
  Results results;
  results.attributes["pruned_heads"] = "L0H0,L0H1,L0H2,L1H2,L1H3";
  results.groups = {group};
  const std::vector<Figure> figures = correlation_figures(results);
  const auto clusters = std::ranges::find(figures, "clark2019_clusters", &Figure::name);
  ASSERT_NE(clusters, figures.end());
  EXPECT_THAT(clusters->caption, testing::HasSubstr("Stress 0.00:"));
  EXPECT_EQ(std::get<Chart>(clusters->content).panels.at(0).series.at(0).x.size(), 3u);
}

TEST_F(CorrelationWithoutHeads, AModelWithoutHeadsHasNoDistances) {
  std::vector<HeadIndex> all;
  for (Index head = 0; head < 8; ++head) all.push_back(HeadIndex::of(head, 4));
  const ResultsGroup group = results(all, PruneMode::remove);
  for (const double value : group.values("mds").values) EXPECT_TRUE(std::isnan(value));
}

// A head with weights of zero writes nothing; the model has it all the same.
TEST_F(CorrelationWithoutHeads, SharesOfTheOutputAreThoseOfHeadsThatAreLeft) {
  EXPECT_THAT(results({{0, 1}}, PruneMode::zero).claims.at(1).evidence,
              testing::HasSubstr("between 0 % and"));
  EXPECT_THAT(results({{0, 1}}, PruneMode::remove).claims.at(1).evidence,
              testing::Not(testing::HasSubstr("between 0 % and")));
}

}  // namespace
}  // namespace headscope
