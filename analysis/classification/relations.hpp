#pragma once

#include <string>
#include <vector>

#include "classification/sums.hpp"
#include "classification/words.hpp"

/// Which head finds which syntactic relation.
namespace headscope {

/// One relation read in one direction. Even documents choose the offset and the head, odd documents
/// score them.
struct RelationTest {
  std::string relation;
  ArcDirection direction;

  double count = 0;              ///< arcs of all documents
  std::vector<double> accuracy;  ///< unit; all documents
  double baseline = 0;           ///< best fixed word offset, all documents

  double heldout_count = 0;         ///< arcs of odd documents
  Index offset = 0;                 ///< chosen by even documents; 0 when they have no such arc
  arma::rowvec heldout_baseline;    ///< weighting
  arma::mat heldout_accuracy;       ///< unit x weighting
  Index chosen_unit = no_position;  ///< the head most accurate on even documents, first on ties

  std::vector<double> p, q;  ///< unit; one-sided exact binomial on odd documents, and its q-value
};

using RelationTests = std::vector<RelationTest>;

/// Held-out arcs below which no head is called syntactic.
inline constexpr double least_heldout_arcs = 30;

/// Whether there are held-out arcs enough, and a baseline, to tell whether a head finds the
/// relation.
bool is_tested(const RelationTest& test);

/// Every relation in both directions, in order; q-values over all of them and all heads.
RelationTests test_relations(const WeightedSums& sums);

}  // namespace headscope
