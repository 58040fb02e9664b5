#pragma once

#include <array>
#include <string>

#include "classification/tests/relations.hpp"
#include "induction.hpp"
#include "scores/sums.hpp"
#include "significance.hpp"

/// Types of heads, from their scores.
namespace headscope {

enum class HeadType {
  positional,
  current_token,
  delimiter,
  syntactic,
  coreference,
  semantic,
  duplicate,
  induction,
  rare,
  sink,
  long_range,
  copying,
  suppressing,
};
inline constexpr std::size_t n_head_type = 13;
const char* head_type_name(HeadType type);
/// The rule in words, with its threshold.
const char* head_type_rule(HeadType type);

/// The numbers in the rules.
namespace type_threshold {
inline constexpr double positional = 0.9, mass = 0.2, delimiter = 0.5, delimiter_factor = 2,
                        gain = 0.10;
inline constexpr double semantic = 0.2, semantic_z = 5, duplicate = 0.4;
inline constexpr double induction = least_induction, rare = 0.5, sink = 0.9;
/// Share of the way from distance_uniform to distance_furthest.
inline constexpr double long_range = 0.25;
}  // namespace type_threshold

/// (value - threshold) / (ceiling - threshold): 0 at the threshold, 1 at the largest possible
/// value. If ceiling <= threshold: 0 for a value that reaches the threshold, else negative. With an
/// infinite ceiling: value - threshold.
double threshold_margin(double value, double threshold, double ceiling);

/// Coreference accuracy on pronouns of odd documents, against the best there of CoreferenceRule.
struct CoreferenceTest {
  arma::mat accuracy;     ///< head_index x weighting
  arma::mat of_rule;      ///< rule x weighting
  arma::rowvec baseline;  ///< weighting: the best rule's under each
  double n_pronoun = 0;
  double n_document = 0;  ///< odd documents that have one
  /// Per head; one-sided paired t over odd documents of the head's hits minus those of the rule
  /// that is best, and its q-value. NaN if there are too few.
  std::vector<double> p, q;
};
CoreferenceTest test_coreference(const WeightedSums& sums);

/// Correlation with token similarity, against permuted tokens.
struct SemanticTest {
  std::vector<double> null_mean, null_std, z;  ///< by head
};
SemanticTest test_semantic(const WeightedSums& sums);

/// The distance from which on a head is long-range; tokens.
double long_range_threshold(double uniform, double furthest);

/// What a type's rule compares for one head on the whole corpus; NaN where the type has no such
/// number.
struct TypeNumbers {
  double score = 0, baseline = 0, threshold = 0;
};

/// Margins over thresholds, head_index x weighting per type; NaN where the type's tests failed or
/// could not be made. A head is of a type if its margin is >= 0. The tests (q, z, the interval of
/// distance) of the whole corpus are used under every weighting: the number of heads of a type
/// varies by scores alone.
struct TypeMargins {
  std::array<arma::mat, n_head_type> margin;
  std::array<std::vector<TypeNumbers>, n_head_type> numbers;  ///< by head
  /// Whether a type's score has a largest value. The room above the threshold of one that has none,
  /// of copying and suppressing, is without end: a margin of any other type is larger.
  std::array<bool, n_head_type> has_ceiling{};
  /// Types whose threshold lies above the largest possible score for every head, as where a rule is
  /// right so often that none can be better by the gain that is asked for.
  std::array<bool, n_head_type> is_out_of_reach{};
  /// Why the corpus cannot test a type, in words; empty if it can.
  std::array<std::string, n_head_type> untested;
  /// Of each head the offset of 1 .. 8 with the largest margin, and the number of its relation
  /// test: of those it passes the one of largest gain on even documents, else that of largest
  /// margin; no_position without one.
  std::vector<Index> positional_offset, syntactic_test;

  const std::string& untested_reason(HeadType type) const {
    return untested[static_cast<std::size_t>(type)];
  }

  const arma::mat& of(HeadType type) const { return margin[static_cast<std::size_t>(type)]; }
  bool has(HeadType type, Index head_index, Index weighting = 0) const {
    return of(type)(head_index, weighting) >= 0;
  }
};

/// Whether the head passes the rule for syntactic heads on the relation.
bool passes(const RelationTest& test, Index head_index);

/// @param induction  head_index x weighting.
TypeMargins type_margins(const WeightedSums& sums, const RelationTests& relations,
                         const CoreferenceTest& coreference, const SemanticTest& semantic,
                         const arma::mat& induction);

/// Removes the pruned heads from every type: their attention is uniform because their weights are
/// zero.
void leave_out_heads(const std::vector<HeadIndex>& pruned, Index n_head, TypeMargins& margins);

/// Share of heads that are of at least one of `any_of`.
Estimate share_of(const TypeMargins& margins, const std::vector<HeadType>& any_of);

/// 0 for no type, else 1 + the type of largest margin, the first on ties; types without a ceiling
/// after all others.
Index primary_type(const TypeMargins& margins, Index head_index);

}  // namespace headscope
