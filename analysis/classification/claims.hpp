#pragma once

#include <vector>

#include "classification/types.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// Claim 7, heads specialise: the share of heads of each type, with intervals from resampling
/// documents or, for induction, sequences. Undecided for a type that the corpus cannot test.
std::vector<Claim> specialisation_claims(const TypeMargins& margins);

/// Claim 8, a coreference head rests on sentences without pronouns: it attends more to the sink and
/// has lower entropy there than on sentences with a pronoun.
std::vector<Claim> rest_claims(const TypeMargins& margins, const WeightedSums& sums, Index n_head);

/// What makes a head positional or syntactic, from the finished group: `at offset 1`, `by det →
/// head (45 held-out arcs)`; empty for other heads and types.
std::string type_carrier(const ResultsGroup& group, HeadType type, Index unit);

/// One or two sentences: how many heads are of each type, and what makes them positional or
/// syntactic.
std::string type_summary(const TypeMargins& margins, const ResultsGroup& group, Index n_head);

}  // namespace headscope
