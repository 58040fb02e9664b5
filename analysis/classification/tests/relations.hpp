#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"
#include "scores/sums.hpp"
#include "scores/words.hpp"

/// Tests of which heads find which syntactic relations, and what pronouns refer to.
namespace headscope {

/// Simple rules for the other end of an arc: the word at a fixed offset (Clark et al. 2019), or the
/// nearest earlier word of a part of speech, across sentences.
enum class RelationRule { offset, word_class };

/// One relation in one direction. Even documents choose the head, and a head's relation; odd ones
/// score them.
struct RelationTest {
  std::string relation;
  ArcDirection direction;

  double count = 0;              ///< arcs of all documents
  std::vector<double> accuracy;  ///< per head; all documents
  /// Of the best fixed word offset and of the nearest earlier word of the best class, all
  /// documents.
  double offset_baseline = 0, class_baseline = 0;

  /// Per head, on even documents: accuracy minus that of the best rule; NaN without arcs.
  std::vector<double> even_gain;
  Index chosen_head = no_position;  ///< most accurate head on even documents, first on ties

  double heldout_count = 0;      ///< arcs of odd documents
  double heldout_documents = 0;  ///< odd documents that have such an arc
  /// The offset and the class best on odd documents, on ties (as where none is right there) the one
  /// best on even documents, then the first; 0 and no_position where none is ever right.
  Index offset = 0, word_class = no_position;
  /// Their accuracy on odd documents.
  double heldout_offset_baseline = 0, heldout_class_baseline = 0;
  RelationRule rule = RelationRule::offset;  ///< the better of the two, the offset on ties
  arma::rowvec heldout_baseline;             ///< weighting; of the best rule under each
  arma::mat heldout_accuracy;                ///< head_index x weighting

  /// Per head: p by a one-sided paired t-test over odd documents of its hits minus those of `rule`,
  /// and the q-value; offset_p, offset_q: minus those of the best offset. NaN if not tested, and of
  /// heads that the model has lost.
  std::vector<double> p, q, offset_p, offset_q;
};

using RelationTests = std::vector<RelationTest>;

/// With fewer held-out cases (arcs, pronouns), or odd documents that have one, no head is tested.
inline constexpr double least_heldout_cases = 30, least_heldout_documents = 10;

/// `det → head`: the dependent attends back to its head; `head → det`: the reverse.
std::string arc_text(const std::string& relation, ArcDirection direction);
/// The same from a test's place along the dimensions relation and direction.
std::string arc_text(const ResultsGroup& group, std::size_t test);

/// Whether the nearest word of a part of speech is a rule for any relation: not where
/// `--relation-baseline offset` leaves that rule out.
bool names_word_class(const ResultsGroup& group);

/// Whether so many held-out cases in so many documents are enough to test heads on.
bool is_enough(double n_case, double n_document);
bool is_tested(const RelationTest& test);
/// `30 arcs in 10 odd-numbered documents`: what is enough.
std::string enough_text(const std::string& cases);

/// Held-out accuracy by which a head must exceed its baseline.
inline constexpr double least_gain = 0.10;
/// The held-out accuracy from which on a head is syntactic.
double relation_threshold(const RelationTest& test, Index weighting);
/// Whether the head passes the rule for syntactic heads on the relation.
bool passes(const RelationTest& test, Index head_index);
/// The same with the best fixed offset alone for its baseline.
bool passes_offset(const RelationTest& test, Index head_index);

/// Held-out arcs of a relation, and those that each head finds, under every weighting. One object
/// reads relation after relation into the same memory.
class HeldoutArcs {
 public:
  void read(const WeightedSums& sums, const std::string& relation);
  Index n_head_total() const { return hits_.n_rows / 2; }
  /// Share of the arcs of the direction that the head finds.
  double accuracy(ArcDirection direction, Index head_index, Index weighting) const;

 private:
  arma::mat hits_, counts_;  // by direction, hits also by head; x weighting
};

/// Every relation in both directions, in order; q-values over all heads of those that are tested.
/// @param offset_alone  leaves out the rule by word class, as published tests do.
/// @param pruned        head_index of the heads that are never chosen or tested, ascending.
RelationTests test_relations(const WeightedSums& sums, bool offset_alone,
                             const std::vector<Index>& pruned = {});

/// Coreference accuracy on pronouns of odd documents, against the best there of CoreferenceRule.
struct CoreferenceTest {
  arma::mat accuracy;     ///< head_index x weighting
  arma::mat of_rule;      ///< rule x weighting
  arma::rowvec baseline;  ///< weighting: the best rule's under each; NaN without pronouns
  double n_pronoun = 0;
  double n_document = 0;  ///< odd documents that have one
  /// Per head; one-sided paired t over odd documents of the head's hits minus those of the rule
  /// that is best, and its q-value. NaN if there are too few, and of heads that the model has lost.
  std::vector<double> p, q;
};
/// @param pruned  head_index of the heads that are not tested, ascending.
CoreferenceTest test_coreference(const WeightedSums& sums, const std::vector<Index>& pruned = {});

}  // namespace headscope
