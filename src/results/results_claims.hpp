#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// A claim and the group that settles it.
struct PlacedClaim {
  const Claim* claim;
  const ResultsGroup* group;
  std::string label;  ///< `5`; `5a`, `5b` for parts of one claim
};

/// The claims of all groups by number; those of one number in the order of the groups.
std::vector<PlacedClaim> claims_by_number(const std::vector<ResultsGroup>& groups);

/// Whether something was measured: without, a claim has no effect.
bool is_tested(const Claim& claim);

/// The same as a report lists them: by group, those that were not tested behind the others, and
/// last those true by arithmetic.
std::vector<PlacedClaim> claims_by_group(const std::vector<ResultsGroup>& groups);

/// All claims of all groups, by number, as one group `claims`, a variable per field; without
/// variables if there are none.
ResultsGroup claims_group(const std::vector<ResultsGroup>& groups);

/// Returns each claim of `claims_group` to its group.
/// @throws Error if a variable or a claim's group is missing.
void restore_claims(const ResultsGroup& claims, Results& results);

}  // namespace headscope
