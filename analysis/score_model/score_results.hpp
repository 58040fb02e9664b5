#pragma once

#include "headscope/results.hpp"
#include "score_model/fits.hpp"

namespace headscope {

/// A head attends by the family of largest gain whose interval lies above this.
inline constexpr double least_family_gain = 0.02;

/// Deviances explained have no value where KL from uniform is below least_uniform, in nats per
/// query, nor beyond the sink where the mean weight of queries is below least_weight.
inline constexpr double least_uniform = 0.01, least_weight = 0.02;

/// KL(A'|uniform) per query, in nats, from which on a head may attend by the family `lexical`:
/// twice what an untrained model has. There queries and keys are normal with variance 0.02^2
/// d_model, by GPT-2's initialisation of the weights, so that scores q . k / sqrt(d_head) have the
/// standard deviation s = 0.02^2 d_model, and KL is s^2 / 2. Such scores depend on the two tokens
/// alone, but training put nothing into them.
double least_lexical_divergence(Index d_model);

/// The group `score_model` with coefficients, deviances, gains and families.
ResultsGroup score_results(const ScoreData& data, const ScoreFits& fits, Index d_model,
                           const AnalysisSettings& settings);

/// Whether the head attends by no single family and yet by features: all of them explain more than
/// least_family_gain, and without any one family more than half of that stays, by the intervals.
/// Families that carry the same information gain about 0 each.
bool attends_by_several_families(const ResultsGroup& group, std::size_t head_index);

/// Adds what heads keep of their effect; nothing if no document was run.
void add_effects(const Statistics& statistics, const AnalysisSettings& settings,
                 ResultsGroup& group);

/// Adds losses with many heads replaced at once; nothing if no document was run so.
void add_joint_losses(const Statistics& statistics, const AnalysisSettings& settings,
                      ResultsGroup& group);

/// Adds where each head's attention is furthest from its model; nothing if no document was run.
void add_surprises(const Statistics& statistics, ResultsGroup& group);

/// Whether any gain of a family of the head has an interval.
bool has_gain_interval(const ResultsGroup& group, std::size_t head_index);

/// Whether the features tell parts of speech apart; only annotated corpora have them.
bool has_parts_of_speech(const ResultsGroup& group);

/// A family's name in a sentence, by what it holds: `word_class` is `word class or frequency`,
/// without parts of speech `capitals and frequency`, of token ids `token frequency`.
std::string family_words(const ResultsGroup& group, const std::string& family);

/// The same of a family that a head attends by: `word_class` is named for the one of its features
/// that pulls the head's model furthest from uniform attention, `word class`, `frequency of the
/// key's token` or `capital of the key's token`.
std::string family_words_of_head(const ResultsGroup& group, const std::string& family,
                                 std::size_t head_index);

/// Adds what each head attends by, in words, from the group's other variables.
void add_head_texts(Index d_model, ResultsGroup& group);

const VariableTable& score_variables();

std::vector<Figure> score_figures(const Results& results);
Presentation score_presentation();

}  // namespace headscope
