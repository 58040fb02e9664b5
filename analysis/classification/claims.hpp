#pragma once

#include <vector>

#include "classification/types.hpp"
#include "headscope/results.hpp"

namespace headscope {

/// Claim 7, heads specialise: the share of heads of each type, with intervals from resampling
/// documents and, for induction, sequences. Of a type that could not be looked for it is undecided.
std::vector<Claim> specialisation_claims(const TypeMargins& margins);

/// Claim 8, a coreference head rests on sentences without pronouns: more attention to the sink and
/// less entropy there than on sentences with one.
std::vector<Claim> rest_claims(const TypeMargins& margins, const WeightedSums& sums, Index n_head);

/// How many heads are of each type, in a sentence or two.
std::string type_summary(const TypeMargins& margins, Index n_head);

}  // namespace headscope
