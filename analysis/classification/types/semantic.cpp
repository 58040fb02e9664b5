#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "classification/types/registry.hpp"

namespace headscope {
namespace {

constexpr double least_correlation = 0.2, least_z = 5;

TypeScores correlation_scores(const Measured& measured) {
  const SemanticTest& test = measured.semantic;
  return {.score = ratio_of(measured.sums, HeadScore::semantic),
          .baseline = [&](Index head_index, Index) { return test.null_mean[head_index]; },
          .threshold = always(least_correlation),
          .is_significant = [&](Index head_index) { return test.z[head_index] >= least_z; }};
}

std::string untested_similarity(const Measured& measured, bool /*is_scored*/) {
  const bool has_z =
      std::ranges::any_of(measured.semantic.z, [](double z) { return !std::isnan(z); });
  if (has_z) return "";
  const std::string no_attention = no_attention_text(measured);
  if (!no_attention.empty()) return no_attention;
  return "no query has 5 keys of other tokens over which both similarity and attention vary";
}

/// The least over heads of the probability that z reaches its threshold.
double semantic_power(const Measured& measured) {
  const SemanticTest& test = measured.semantic;
  const boost::math::normal_distribution<> normal;
  double power = arma::datum::nan;
  for (std::size_t head_index = 0; head_index < test.z.size(); ++head_index) {
    const double z = (least_correlation - test.null_mean[head_index]) / test.null_std[head_index];
    if (std::isfinite(z)) power = std::fmin(power, cdf(complement(normal, least_z - z)));
  }
  return power;
}

/// The key among 1 .. query-2, of another token than the query's, whose token is most similar; none
/// if there are fewer than 5.
std::vector<ExampleCase> similar_cases(const ExampleSource& source) {
  return token_cases(source, [&](Index query) -> std::vector<Index> {
    std::vector<float> similarity(query + 1);
    source.similarity.column(query, similarity.data());
    Index best = no_position, n = 0;
    for (Index key = 1; key + 2 <= query; ++key) {
      if (source.piece.tokens[key] == source.piece.tokens[query]) continue;
      ++n;
      if (best == no_position || similarity[key] > similarity[best]) best = key;
    }
    if (n < least_semantic_keys) return {};
    return {best};
  });
}

}  // namespace

SemanticTest test_semantic(const WeightedSums& sums) {
  const arma::mat observed = sums.ratio(score_info(HeadScore::semantic).name);
  const Array totals = sums.statistics().total("semantic_null");
  const Array weights = sums.statistics().total(weight_name("semantic_null"));
  const Index n_head_total = observed.n_rows;
  const Index n_permutation = totals.size() / n_head_total;
  SemanticTest test;
  for (Index head_index = 0; head_index < n_head_total; ++head_index) {
    arma::vec null(n_permutation);
    for (Index r = 0; r < n_permutation; ++r) {
      const Index i = r * n_head_total + head_index;
      null(r) = Ratio{totals.values[i], weights.values[i]}.value();
    }
    test.null_mean.push_back(arma::mean(null));
    test.null_std.push_back(arma::stddev(null));
    test.z.push_back((observed(head_index, 0) - test.null_mean.back()) / test.null_std.back());
  }
  return test;
}

HeadType semantic_type() {
  return {
      .name = "semantic",
      .rule = "semantic >= 0.2 and z >= 5",
      .sentence = "It attends to earlier words of similar meaning.",
      .claim_part = 3,
      .scores = correlation_scores,
      .beats_permuted = true,
      .untested = untested_similarity,
      .power = semantic_power,
      .examples = {.cases = similar_cases},
      .features = of_all_heads(std::vector<std::string>{"similarity"}),
  };
}

}  // namespace headscope
