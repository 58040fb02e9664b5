#pragma once

#include "classification/sums.hpp"
#include "headscope/array.hpp"
#include "headscope/figure.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The group `classification` from the sums of a corpus.
/// @param induction     n_sequence x n_layer x n_head, of induction_scores.
/// @param pruned_heads  heads taken out of the model: they are of no type.
ResultsGroup classification_results(const Statistics& statistics, const Array& induction,
                                    const std::vector<HeadIndex>& pruned_heads,
                                    std::size_t n_bootstrap, std::uint64_t seed);

/// What the report says and shows of the finished group.
ReportPart classification_report(const ResultsGroup& group);

/// Figures from a results file that holds the group.
std::vector<Figure> classification_figures(const Results& results);

}  // namespace headscope
