#pragma once

#include <vector>

#include "comparison/stacked_variable.hpp"
#include "headscope/comparison.hpp"

namespace headscope {

/// Whether the variable is a number of documents or pairs that a group is about.
bool counts_sample(const Variable& variable);

/// Whether the variable is by head: it has the dimensions layer and head, and is not one document's
/// attention.
bool is_by_head(const Variable& variable);

/// By run, whether its variable pairs with the first run's: same program, seed and resampling, and
/// as many documents of the same corpus or pairs of the same tasks, in the group too.
/// @param by_run  the first is not null.
std::vector<bool> paired_runs(const std::vector<ComparedRun>& runs,
                              const std::vector<RunVariable>& by_run);

/// Whether a value changed: by the interval of its difference if it has one, else if the two
/// intervals lie apart.
bool is_changed(const Estimate& first, const Estimate& later, const Estimate& difference);

/// Adds every variable by head that all runs have, with its comparison with the first run, the type
/// transitions, and which heads are removed. The runs have the same number of layers and heads.
void add_head_variables(const std::vector<ComparedRun>& runs, Comparison& comparison);

}  // namespace headscope
