#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "headscope/estimate.hpp"
#include "headscope/statistics.hpp"
#include "scores/words.hpp"

/// The sums that classification keeps over a corpus, and the scores made from them.
///
/// Every sum is kept per block of documents (n_document_block). Intervals come from resampling
/// blocks, so memory does not grow with the corpus. A block holds only even or only odd documents.
namespace headscope {

inline constexpr Index n_block = n_document_block;

enum class HeadScore {
  sink,
  entropy,
  confidence,
  distance,
  distance_even,
  variability,
  previous_token,
  delimiter,
  dependency_alignment,
  coreference,
  coreference_pronoun,
  semantic,
  duplicate_token,
  rare_token,
  copy_effect,
  copy_effect_null,
  suppression_effect,
  suppression_effect_null,
};
inline constexpr std::size_t n_head_score = 18;

/// A score as described in the results file; `name` is also the name of its sum.
struct ScoreInfo {
  const char* name;
  const char* definition;
  const char* units;
  const char* references;
};
const ScoreInfo& score_info(HeadScore score);

/// Baselines that depend on the corpus alone; each is a sum per block.
enum class Baseline {
  delimiter_baseline,
  distance_uniform,
  distance_furthest,
  dependency_alignment_baseline,
  dependency_alignment_previous,
};
inline constexpr std::size_t n_baseline = 5;
const ScoreInfo& baseline_info(Baseline baseline);

/// Name of the sum that holds the denominators of the sum `name`.
std::string weight_name(const std::string& name);

/// Names of the sums of one relation.
std::string relation_hits_name(const std::string& relation);     ///< block, direction, layer, head
std::string relation_count_name(const std::string& relation);    ///< block, direction
std::string relation_offsets_name(const std::string& relation);  ///< block, direction, word offset
std::string relation_classes_name(
    const std::string& relation);  ///< block, direction, Arc::nearest_class
/// Name of the paired test of a relation in one direction; rule o is the word offset o, rule
/// longest_offset + 1 + c the nearest earlier word of class c.
std::string relation_test_name(const std::string& relation, Index direction);

/// Sum of the rules for coreference: block, rule, mention (all, pronouns).
inline constexpr const char* coreference_baseline_name = "coreference_baseline";
/// Name of the paired test on pronouns; its rules are those of CoreferenceRule.
inline constexpr const char* pronoun_test_name = "coreference_pronoun";

/// The best fixed offset is at most this many words. Longer arcs still count as arcs.
inline constexpr Index longest_offset = 64;

/// Rules of the paired test of a relation: offsets, then word classes.
inline constexpr Index n_relation_rule = longest_offset + 1 + n_word_class;

/// The documents that a value is computed from.
enum class Half { all, even, odd };

/// Sums over blocks under several weightings: the whole corpus, then resamples of it.
class WeightedSums {
 public:
  WeightedSums(const Statistics& statistics, std::size_t n_bootstrap, std::uint64_t seed);

  /// 1, and the resamples that Bootstrap draws.
  Index n_weighting() const { return weights_[0].n_cols; }

  /// Weighted sum of `name`: (elements per block) x n_weighting.
  arma::mat total(const std::string& name, Half half = Half::all) const;
  /// The same, into memory that is used again: the heap grows where large matrices come and go.
  void total(const std::string& name, Half half, arma::mat& totals) const;
  /// The first column of `total`: over the documents themselves.
  arma::vec observed(const std::string& name, Half half) const;

  /// total(name) / total(weight_name(name)), element by element; NaN where the weight is 0.
  arma::mat ratio(const std::string& name, Half half = Half::all) const;

  /// What a smooth function of sums gives, such as a ratio, row by row with intervals.
  /// @param values  returns as many rows for any sums, and a column by weighting.
  std::vector<Estimate> estimates(
      const std::function<arma::mat(const WeightedSums&)>& values) const;

  const Statistics& statistics() const { return statistics_; }

 private:
  WeightedSums(const Statistics& statistics, Bootstrap bootstrap);
  WeightedSums(const Statistics& statistics, Bootstrap bootstrap, arma::mat weights);

  const arma::mat& weights(Half half) const { return weights_[static_cast<std::size_t>(half)]; }
  /// Sets `totals` to the sums of `name` over blocks. @param weights  n_block x weighting.
  void weigh(const std::string& name, const arma::mat& weights, arma::mat& totals) const;

  const Statistics& statistics_;
  Bootstrap bootstrap_;
  std::array<arma::mat, 3> weights_;  // by Half; n_block x n_weighting: how often a block counts
};

/// The estimate in row `row` of a statistic that jumps: value from column 0, interval from the
/// other columns.
Estimate row_estimate(const arma::mat& values, Index row);

/// The dependency relations in the corpus, sorted.
std::vector<std::string> relations_of(const Statistics& statistics);

}  // namespace headscope
