#include <cmath>

#include "classification/types/registry.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// The distance from which on a head is long-range, tokens: a quarter of the way.
double long_range_threshold(double uniform, double furthest) {
  return std::lerp(uniform, furthest, 0.25);
}

TypeScores long_range_scores(const Measured& measured) {
  const ByHead uniform = baseline_of(measured.sums, Baseline::distance_uniform),
               furthest = baseline_of(measured.sums, Baseline::distance_furthest),
               even = ratio_of(measured.sums, HeadScore::distance_even);
  const auto distance = [](const WeightedSums& weighted) {
    return weighted.ratio(score_info(HeadScore::distance).name);
  };
  const std::vector<Estimate> distances = measured.sums.estimates(distance);
  // A head whose attention beyond the sink grows along the document has a larger distance than
  // distance_uniform, though it spreads this attention evenly.
  const std::vector<Estimate> beyond_even =
      measured.sums.estimates([&](const WeightedSums& weighted) -> arma::mat {
        return distance(weighted) - weighted.ratio(score_info(HeadScore::distance_even).name);
      });
  return {.score = ratio_of(measured.sums, HeadScore::distance),
          .baseline = uniform,
          .threshold =
              [=](Index head_index, Index w) {
                return long_range_threshold(uniform(head_index, w), furthest(head_index, w));
              },
          .ceiling = furthest,
          .is_significant =
              [=](Index head_index) {
                return distances[head_index].is_above(uniform(head_index, 0)) &&
                       is_measurable(beyond_even[head_index], even(head_index, 0));
              },
          .second_margin = attends_beyond_sink(measured.sums)};
}

std::string untested_distance(const Measured& measured, bool /*is_scored*/) {
  const std::string no_attention = no_attention_text(measured);
  if (!no_attention.empty()) return no_attention;
  return measured.sums.n_weighting() == 1 ? "there is no interval: too few documents, or resamples"
                                          : "";
}

/// Keys as far back as the rule asks of the mean distance, for this query.
std::vector<Index> distant_keys(const ExampleCase& example, const SeenHead& /*head*/) {
  const double furthest = static_cast<double>(example.query - 1),
               threshold = long_range_threshold(furthest / 2, furthest);
  std::vector<Index> targets;
  for (Index key = 1; static_cast<double>(example.query - key) >= threshold; ++key) {
    targets.push_back(key);
  }
  return targets;
}

}  // namespace

HeadType long_range_type() {
  return {
      .name = "long_range",
      .rule =
          "distance >= distance_uniform + 0.25 x (distance_furthest - distance_uniform), its "
          "interval above distance_uniform and that of distance - distance_even above 0, and sink "
          "<= 0.98",
      .sentence = "It attends further back than a head with uniform attention.",
      .is_specialised = false,
      .scores = long_range_scores,
      .untested = untested_distance,
      .examples = {.targets = distant_keys},
  };
}

}  // namespace headscope
