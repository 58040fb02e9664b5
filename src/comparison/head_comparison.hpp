#pragma once

#include <vector>

#include "headscope/comparison.hpp"

namespace headscope {

/// Whether the variable is by head: it has the dimensions layer and head, and its group does not
/// describe one document's attention.
bool is_by_head(const ResultsGroup& group, const Variable& variable);

/// Adds every variable by head that all runs have, with its comparison with the first run, and the
/// type transitions. The runs have the same number of layers and heads.
void add_head_variables(const std::vector<ComparedRun>& runs, Comparison& comparison);

}  // namespace headscope
