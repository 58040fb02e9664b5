#pragma once

#include <vector>

#include "classification/types/types.hpp"

namespace headscope {

/// Claim 7, heads specialise: the share of heads of each type, with intervals from resampling
/// documents or, for induction, sequences. Undecided for a type that the corpus cannot test. "Some
/// heads are of the type" does not hold if no head is found and the interval of no head reaches the
/// threshold. A type with a significance test counts only heads that pass it, and its test must
/// find a head at the threshold with a probability of at least least_power; an unknown probability
/// (NaN) proves nothing. Only untrained models can show that the claim holds (settle_by_controls).
/// @param powers  by type: HeadType::power, NaN without one.
/// @param notes   by type: HeadType::claim_note, empty without one.
std::vector<Claim> specialisation_claims(const MeasuredTypes& types,
                                         const std::vector<double>& powers,
                                         const std::vector<std::string>& notes);

/// Heads of each type in one untrained model, by type; NaN where its documents cannot test the
/// type.
using ControlHeads = std::vector<double>;

/// Decides that some heads are of a type: holds if the interval of their number lies above the
/// largest number in an untrained model. Fewer than five untrained models decide nothing; the
/// evidence says so where there are none.
/// @param n_head_total  heads of the model, without removed ones.
void settle_by_controls(const HeadTypeList& types, const std::vector<ControlHeads>& controls,
                        Index n_head_total, std::vector<Claim>& claims);

/// Takes away the intervals without width from the claims about numbers of heads, and says why:
/// resamples that never change a number tell nothing of how it varies. After all verdicts.
void remove_intervals_of_no_width(std::vector<Claim>& claims);

/// Claim 8, a coreference head rests on sentences without pronouns: on them it attends more to the
/// sink and has lower entropy than on sentences with a pronoun. Holds if all coreference heads do
/// so, does not hold if all do the opposite.
std::vector<Claim> rest_claims(const MeasuredTypes& types, const WeightedSums& sums, Index n_head);

/// One or two sentences: how many heads are of each type, and by what.
std::string type_summary(const MeasuredTypes& types, const ResultsGroup& group, Index n_head);

}  // namespace headscope
