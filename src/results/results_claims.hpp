#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// A claim and the group that settles it.
struct PlacedClaim {
  const Claim* claim;
  const ResultsGroup* group;
};

/// The claims of all groups by number; those of one number in the order of the groups.
std::vector<PlacedClaim> claims_by_number(const std::vector<ResultsGroup>& groups);

/// All claims of all groups, by number, as one group `claims`, a variable per field; without
/// variables if there are none.
ResultsGroup claims_group(const std::vector<ResultsGroup>& groups);

/// Gives each claim of `claims_group` back to its group.
/// @throws Error if a variable is missing or a claim's group is.
void restore_claims(const ResultsGroup& claims, Results& results);

}  // namespace headscope
