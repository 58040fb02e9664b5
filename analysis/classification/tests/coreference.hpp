#pragma once

#include <vector>

#include "scores/sums.hpp"

namespace headscope {

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
