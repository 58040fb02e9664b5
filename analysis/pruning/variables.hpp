#pragma once

#include "headscope/results.hpp"

namespace headscope {

/// The variables of the group `pruning`.
const VariableTable& pruning_variables();

}  // namespace headscope
