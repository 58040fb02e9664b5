#pragma once

#include "classification/types/head_type.hpp"
#include "headscope/analysis.hpp"
#include "headscope/array.hpp"
#include "headscope/figure.hpp"
#include "headscope/presentation.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// The group `classification` from the summed statistics.
/// @param types         of heads.
/// @param induction     n_sequence x n_layer x n_head, from induction_scores.
/// @param pruned_heads  heads removed from the model; they get no type and count in no share, no
///                      median and no mean over heads.
/// @param permuted      of permuted_scores.
ResultsGroup classification_results(const HeadTypeList& types, const Statistics& statistics,
                                    const Array& induction,
                                    const std::vector<HeadIndex>& pruned_heads,
                                    const AnalysisSettings& settings,
                                    const PermutedScores& permuted = {});

/// Bytes of the resampled values that classification_results computes with.
/// @param n_type  types of heads.
std::uint64_t classification_results_bytes(const RunShape& run, std::size_t n_type);

/// Of a control model: `heads`, the number of heads by type, NaN where the documents cannot test
/// for the type, and `scores`, type x head, the type's score. Parameters as of
/// classification_results.
ControlValues control_types(const HeadTypeList& types, const Statistics& statistics,
                            const Array& induction, const std::vector<HeadIndex>& pruned_heads,
                            const AnalysisSettings& settings);

/// Of the types that models with permuted weights are compared with.
/// @param controls  control_types of each such model.
PermutedScores permuted_scores(const HeadTypeList& types,
                               const std::vector<ControlValues>& controls);

/// Adds `control_type_heads`, and the verdicts of claims that untrained models can decide.
/// @param controls  control_types of each untrained model.
/// @param n_pruned  heads removed from the model.
void add_control_types(const HeadTypeList& types, const std::vector<ControlValues>& controls,
                       Index n_pruned, ResultsGroup& group);

Presentation classification_presentation();

/// Figures from a results file that holds the group.
std::vector<Figure> classification_figures(const Results& results);

/// The report's first sentences from the finished group `classification`: the most frequent types,
/// how many labels explain what their head does, and the heads that cost most among those whose
/// effect no label explains. The costs are those of the group `pruning`, where the results have it.
Headline classification_headline(const Results& results);

/// By head, why it is not syntactic though it beats the best fixed offset on some relation: the
/// nearest word of a part of speech is a better rule. Gives the numbers of the relation on which
/// it beats the offset by most. Empty for all other heads.
/// @param group  with the variables of relations.
std::vector<std::string> relation_texts(const ResultsGroup& group);

/// How many heads have a type.
struct TypeCount {
  std::size_t type = 0;  ///< index in `head_type`
  std::size_t n_head = 0;
};

/// The types of a run's heads, by how they compare with untrained models.
struct LearnedTypes {
  /// More heads have the type than in any untrained model, each of which was tested for it; without
  /// untrained models, some head has it. The most frequent first.
  std::vector<TypeCount> learned;
  /// The same of types that do not count as specialised (long range, sink).
  std::vector<TypeCount> apart;
  std::vector<TypeCount> not_learned;  ///< other types of some head
  std::vector<std::size_t> absent;     ///< types of no head
  std::size_t n_specialised = 0;       ///< heads with one of the types `learned`
  std::size_t n_apart = 0;             ///< of these, heads with one of the types `apart`
  std::size_t n_head = 0;              ///< all heads that the model has
};

/// From the finished group `classification`.
LearnedTypes learned_types(const Results& results);

/// `2 of 3 heads are specialised`.
std::string specialised_heads_text(const LearnedTypes& types);

/// The most heads of a type in one untrained model; NaN where the documents of one cannot test for
/// the type.
/// @param group  with control_type_heads.
double most_untrained(const ResultsGroup& group, std::size_t type);

}  // namespace headscope
