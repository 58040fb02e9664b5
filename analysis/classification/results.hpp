#pragma once

#include "classification/types/head_type.hpp"
#include "headscope/array.hpp"
#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The group `classification` from the summed statistics.
/// @param types         of heads.
/// @param induction     n_sequence x n_layer x n_head, from induction_scores.
/// @param offset_alone  of test_relations.
/// @param pruned_heads  heads removed from the model; they get no type.
ResultsGroup classification_results(const HeadTypeList& types, const Statistics& statistics,
                                    const Array& induction,
                                    const std::vector<HeadIndex>& pruned_heads,
                                    std::size_t n_bootstrap, std::uint64_t seed,
                                    bool offset_alone = false);

/// Heads of each type, by type, as `ControlValues` holds them; NaN where the documents cannot test
/// for the type. Parameters as of classification_results.
Array heads_by_type(const HeadTypeList& types, const Statistics& statistics, const Array& induction,
                    const std::vector<HeadIndex>& pruned_heads, std::size_t n_bootstrap,
                    std::uint64_t seed, bool offset_alone);

/// Adds `control_type_heads`, the line of the summary that counts jobs with it, and what untrained
/// models decide of the claims.
/// @param controls  heads_by_type of each.
void add_control_types(const HeadTypeList& types, const std::vector<Array>& controls,
                       ResultsGroup& group);

/// The part of the report about the finished group.
Presentation classification_presentation();

/// Figures from a results file that holds the group.
std::vector<Figure> classification_figures(const Results& results);

}  // namespace headscope
