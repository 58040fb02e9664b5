#pragma once

#include <set>
#include <string>
#include <vector>

#include "headscope/comparison.hpp"

namespace headscope {

/// Whether the variable is by head: it has the dimensions layer and head, and is not one document's
/// attention.
bool is_by_head(const Variable& variable);

/// Adds every variable by head that all runs have, with its comparison with the first run, the type
/// transitions, and which heads are removed. The runs have the same number of layers and heads.
/// @param auxiliary  as from auxiliary_variables.
void add_head_variables(const std::vector<ComparedRun>& runs,
                        const std::set<std::string>& auxiliary, Comparison& comparison);

}  // namespace headscope
