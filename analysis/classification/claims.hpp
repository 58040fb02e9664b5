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

/// One or two sentences: how many heads are of each type.
std::string type_summary(const TypeMargins& margins, Index n_head);

}  // namespace headscope
