#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "classification/examples/cases.hpp"
#include "classification/explained/places.hpp"
#include "classification/tests/relations.hpp"
#include "headscope/results.hpp"
#include "scores/sums.hpp"

/// What a type of head is, as data. Each type is a file of types/ and a line of registry.cpp.
/// Flags, prototypes, examples, panels and figures go through the list of types. Published claims
/// name the types that they are about, and places the type whose heads look there.
namespace headscope {

/// By name of type, the score that 95 % of the heads of models with permuted weights stay below.
/// Empty unless such models ran.
using PermutedScores = std::map<std::string, double>;

/// Correlation with token similarity, against permuted tokens.
struct SemanticTest {
  std::vector<double> null_mean, null_std, z;  ///< by head
};
SemanticTest test_semantic(const WeightedSums& sums);

/// What the rules of types read: sums of the corpus, and tests made from them.
struct Measured {
  WeightedSums sums;
  RelationTests relations;
  CoreferenceTest coreference;
  SemanticTest semantic;
  arma::mat induction;  ///< head_index x weighting
  PermutedScores permuted;
  std::vector<Index> pruned;  ///< head_index of the heads removed from the model, ascending
  Index n_head_total() const { return induction.n_rows; }
  bool has_lost(Index head_index) const { return std::ranges::binary_search(pruned, head_index); }
};

/// A number by head and weighting.
using ByHead = std::function<double(Index head_index, Index weighting)>;

ByHead always(double value);
ByHead of_heads(arma::mat values);   ///< head x weighting
ByHead of_corpus(arma::mat values);  ///< 1 x weighting: the same of all heads
ByHead ratio_of(const WeightedSums& sums, HeadScore score);
ByHead baseline_of(const WeightedSums& sums, Baseline baseline);

/// (value - threshold) / (ceiling - threshold): 0 at the threshold, 1 at the largest possible
/// value. If ceiling <= threshold: 0 for a value that reaches the threshold, else negative. With an
/// infinite ceiling: value - threshold.
double threshold_margin(double value, double threshold, double ceiling);

/// A second margin for scores that are shares of the attention beyond position 0: negative where
/// a head leaves less than 0.02 of its attention there (sink > 0.98), else infinite.
ByHead attends_beyond_sink(const WeightedSums& sums);

/// What a type's rule compares: a head is of the type if its score reaches the threshold and its
/// test, on the whole corpus, is significant.
struct TypeScores {
  ByHead score;
  ByHead baseline = always(arma::datum::nan);
  ByHead threshold;
  ByHead ceiling = always(1);  ///< the largest possible score
  std::function<bool(Index head_index)> is_significant = [](Index) { return true; };
  /// A further condition, as a margin; a rule with one has the smaller margin of both.
  ByHead second_margin = nullptr;
  /// The offset or relation with which a head comes closest to the rule; none for types without
  /// such a choice.
  std::function<Index(Index head_index)> choice = nullptr;

  double margin(Index head_index, Index weighting) const;
};

/// Whether no document has a query with a key besides the sink and itself, and the words for it.
bool is_too_short(const Measured& measured);
inline constexpr const char* too_short_text =
    "no document has a token beyond position 1 as it is read (--context)";

/// Why no head has a score of its attention beyond position 0, if that is so: the documents are too
/// short, or all heads attend to position 0 alone.
std::string no_attention_text(const Measured& measured);

/// A mean share of attention against a fixed threshold.
TypeScores share_scores(const Measured& measured, HeadScore score, double threshold);

struct MeasuredType;

/// A function of the finished results and a head.
template <typename Result>
using OfHead = std::function<Result(const ResultsGroup& group, Index head_index)>;

/// The same of all heads.
template <typename Result>
OfHead<Result> of_all_heads(Result result) {
  return [result = std::move(result)](const ResultsGroup&, Index) { return result; };
}

/// Why the corpus cannot test a type.
/// @param is_scored  whether any head has a margin.
using Untested = std::function<std::string(const Measured&, bool is_scored)>;

/// The reason, where no head has a margin.
Untested unless_scored(std::string reason);

struct HeadType {
  std::string name;      ///< `long_range`
  std::string rule;      ///< in words, with its thresholds
  std::string sentence;  ///< what such a head does, for readers of the report
  /// Whether a head of the type counts as specialised; else the type says how far the head looks or
  /// that it rests, not what it does.
  bool is_specialised = true;
  /// The part of claim 7 that says that some heads are of the type; 0: none does.
  int claim_part = 0;

  std::function<TypeScores(const Measured&)> scores;
  /// Whether the score must also reach PermutedScores, because a head that only reads embeddings
  /// may beat a baseline that exchanges tokens.
  bool beats_permuted = false;
  /// Whether the rule wants low values: the score is the negative of what the rule names.
  bool is_low = false;
  Untested untested;  ///< in words; empty if the corpus can test the type
  /// The probability that the significance test finds one head at the threshold; none: no test.
  std::function<double(const Measured&)> power = nullptr;
  /// A sentence more for the evidence of its part of claim 7.
  std::function<std::string(const Measured&)> claim_note = nullptr;

  /// Adds variables of this type alone.
  std::function<void(const Measured&, const MeasuredType&, ResultsGroup&)> add_variables = nullptr;
  /// What makes a head one of the type, e.g. offsets; the claimed one first.
  OfHead<std::vector<Index>> choices = nullptr;
  /// A choice in words: `offset 1`, `det → head (45 held-out arcs)`.
  std::function<std::string(const ResultsGroup&, Index choice)> choice_text = nullptr;

  /// Where a head of the type looks; none: the type names no place.
  OfHead<Place> place = nullptr;
  /// Places of other types that are tried first as its control.
  OfHead<std::vector<Place>> rivals = nullptr;
  TypeExamples examples = {};
  /// Features of the score model by which the type says that a head attends.
  OfHead<std::vector<std::string>> features = nullptr;
};

using HeadTypeList = std::vector<HeadType>;

/// What a type's rule compares for one head on the whole corpus; NaN where the type has no such
/// number.
struct TypeNumbers {
  double score = 0, baseline = 0, threshold = 0;
};

/// A type's rule applied to all heads. The significance test of the whole corpus is used under
/// every weighting: the number of heads of a type varies by scores alone.
struct MeasuredType {
  const HeadType* type = nullptr;
  std::string rule;  ///< of the type, with what PermutedScores adds
  /// head_index x weighting, margin over the threshold: a head is of the type from 0 on. NaN where
  /// the type's test failed or could not be made.
  arma::mat margin;
  std::vector<TypeNumbers> numbers;  ///< by head
  std::vector<Index> choice;         ///< by head, TypeScores::choice; no_position without any
  /// Whether the score has a largest value. Without one the room above the threshold is infinite,
  /// and the margin counts less than that of any other type.
  bool has_ceiling = true;
  /// The threshold lies above the largest possible score of every head, as where a rule is so often
  /// right that none can exceed it by the gain asked for.
  bool is_out_of_reach = false;
  std::string untested;  ///< why the corpus cannot test the type; empty if it can
  Index n_removed = 0;   ///< heads that the model has lost

  /// Whether the type states the power of its significance test, which may be unknown (NaN).
  bool has_power() const { return type->power != nullptr; }
  /// Heads that the model has.
  Index n_head() const { return margin.n_rows - n_removed; }
  bool has(Index head_index, Index weighting = 0) const {
    return margin(head_index, weighting) >= 0;
  }
  std::vector<Index> heads() const;  ///< of the type, on the whole corpus
  /// By head, the choice of a head of the type, -1 of any other.
  std::vector<double> choices_of_heads() const;
};

}  // namespace headscope
