#pragma once

#include <string>
#include <vector>

#include "classification/sums.hpp"
#include "classification/words.hpp"

/// Tests of which heads find which syntactic relations.
namespace headscope {

/// One relation in one direction. Offset and head are chosen on even documents and scored on odd
/// ones.
struct RelationTest {
  std::string relation;
  ArcDirection direction;

  double count = 0;              ///< arcs of all documents
  std::vector<double> accuracy;  ///< per unit; all documents
  double baseline = 0;           ///< best fixed word offset, all documents

  double heldout_count = 0;         ///< arcs of odd documents
  Index offset = 0;                 ///< chosen on even documents; 0 if they have no such arc
  arma::rowvec heldout_baseline;    ///< weighting
  arma::mat heldout_accuracy;       ///< unit x weighting
  Index chosen_unit = no_position;  ///< most accurate head on even documents, first on ties

  std::vector<double> p,
      q;  ///< per unit; one-sided exact binomial test on odd documents, and its q-value
};

using RelationTests = std::vector<RelationTest>;

/// With fewer held-out arcs no head is called syntactic.
inline constexpr double least_heldout_arcs = 30;

/// `det → head`: the dependent attends back to its head; `head → det`: the reverse.
std::string arc_text(const std::string& relation, ArcDirection direction);

/// Whether the relation has enough held-out arcs, and a baseline, to test heads on it.
bool is_tested(const RelationTest& test);

/// Every relation in both directions, in order; q-values over all these tests of all heads.
RelationTests test_relations(const WeightedSums& sums);

}  // namespace headscope
