#pragma once

#include <array>
#include <string>
#include <vector>

#include "classification/pattern.hpp"
#include "headscope/estimate.hpp"
#include "headscope/statistics.hpp"

/// What classification keeps of a corpus, and how it becomes scores.
///
/// Every sum is kept per block of documents (n_document_block), so that intervals come from
/// resampling blocks while memory stays the same for any corpus; the even and the odd half can be
/// told apart.
namespace headscope {

inline constexpr Index n_block = n_document_block;

enum class HeadScore {
  sink,
  entropy,
  confidence,
  distance,
  variability,
  previous_token,
  delimiter,
  dependency_alignment,
  coreference,
  coreference_pronoun,
  semantic,
  duplicate_token,
  rare_token,
};
inline constexpr std::size_t n_head_score = 13;

/// What a score is, for the results file; `name` also names its sums.
struct ScoreInfo {
  const char* name;
  const char* definition;
  const char* units;
  const char* references;
};
const ScoreInfo& score_info(HeadScore score);

/// Baselines that depend on the corpus alone, each a sum per block.
enum class Baseline {
  delimiter_baseline,
  distance_uniform,
  distance_furthest,
  dependency_alignment_baseline,
  coreference_baseline,
  coreference_pronoun_baseline,
};
inline constexpr std::size_t n_baseline = 6;
const ScoreInfo& baseline_info(Baseline baseline);

/// Name of the sum that holds the denominators of the sum `name`.
std::string weight_name(const std::string& name);

/// Names of the sums of one relation.
std::string relation_hits_name(const std::string& relation);     ///< block, direction, layer, head
std::string relation_count_name(const std::string& relation);    ///< block, direction
std::string relation_offsets_name(const std::string& relation);  ///< block, direction, word offset

/// Arcs longer than this many words count, but are no candidates for the best fixed offset.
inline constexpr Index longest_offset = 64;

/// Which documents a value is taken from.
enum class Half { all, even, odd };

/// Sums over blocks under one or several weightings: the whole corpus, or resamples of it.
class WeightedSums {
 public:
  /// @param weights  n_block x n_weighting: how often each block counts.
  WeightedSums(const Statistics& statistics, arma::mat weights);

  Index n_weighting() const { return weights_.n_cols; }

  /// Weighted sum of `name`: (elements per block) x n_weighting.
  arma::mat total(const std::string& name, Half half = Half::all) const;

  /// total(name) / total(weight_name(name)), element by element; NaN where there was nothing.
  arma::mat ratio(const std::string& name, Half half = Half::all) const;

  const Statistics& statistics() const { return statistics_; }

 private:
  const Statistics& statistics_;
  arma::mat weights_;
};

/// Every block once in column 0, then `n_bootstrap` resamples of the blocks that hold documents;
/// column 0 alone where Bootstrap draws none.
arma::mat bootstrap_weights(const Statistics& statistics, std::size_t n_bootstrap,
                            std::uint64_t seed);

/// Row `row`: its value in column 0, its interval over the others.
Estimate row_estimate(const arma::mat& values, Index row);

/// The relations seen, sorted.
std::vector<std::string> relations_of(const Statistics& statistics);

}  // namespace headscope
