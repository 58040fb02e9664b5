#pragma once

#include <string>
#include <vector>

#include "scores/sums.hpp"
#include "scores/words.hpp"

/// Tests of which heads find which syntactic relations.
namespace headscope {

/// One relation in one direction. Even documents choose the head, and a head's relation; odd ones
/// score them.
struct RelationTest {
  std::string relation;
  ArcDirection direction;

  double count = 0;              ///< arcs of all documents
  std::vector<double> accuracy;  ///< per head; all documents
  double baseline = 0;           ///< best fixed word offset, all documents

  /// Per head, on even documents: accuracy minus that of the best fixed offset; NaN without arcs.
  std::vector<double> even_gain;
  Index chosen_head = no_position;  ///< most accurate head on even documents, first on ties

  double heldout_count = 0;      ///< arcs of odd documents
  double heldout_documents = 0;  ///< odd documents that have such an arc
  /// The offset that heads are compared with: best on odd documents, on ties the one best on even
  /// documents, then the shortest; 0 without any.
  Index offset = 0;
  arma::rowvec heldout_baseline;  ///< weighting; of the best offset under each
  arma::mat heldout_accuracy;     ///< head_index x weighting

  /// Per head; one-sided paired t over odd documents of the head's hits minus the offset's, and its
  /// q-value. NaN if the relation is not tested.
  std::vector<double> p, q;
};

using RelationTests = std::vector<RelationTest>;

/// With fewer held-out cases (arcs, pronouns), or odd documents that have one, no head is tested.
inline constexpr double least_heldout_cases = 30, least_heldout_documents = 10;

/// `det → head`: the dependent attends back to its head; `head → det`: the reverse.
std::string arc_text(const std::string& relation, ArcDirection direction);

/// Whether so many held-out cases in so many documents are enough to test heads on.
bool is_enough(double n_case, double n_document);
bool is_tested(const RelationTest& test);

/// Share of the held-out arcs of the test's relation and direction that each head finds: head_index
/// x weighting.
arma::mat heldout_accuracy(const WeightedSums& sums, const RelationTest& test);

/// Every relation in both directions, in order; q-values over all heads of those that are tested.
RelationTests test_relations(const WeightedSums& sums);

}  // namespace headscope
