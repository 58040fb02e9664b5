#pragma once

#include <string>
#include <vector>

#include "comparison/stacked_variable.hpp"
#include "headscope/comparison.hpp"

namespace headscope {

/// Whether the variable is a number of documents or pairs that a group is about.
bool counts_sample(const Variable& variable);

/// By run, whether its variable pairs with the first run's: same program, seed and resampling, and
/// as many documents of the same corpus or pairs of the same tasks, in the group too.
/// @param by_run  the first is not null.
std::vector<bool> paired_runs(const std::vector<ComparedRun>& runs,
                              const std::vector<RunVariable>& by_run);

/// Says why variables of the later run that could be paired with the first run's are not; empty
/// where all are paired, and where there are none.
std::string pairing_note(const ComparedRun& first, const ComparedRun& later);

}  // namespace headscope
