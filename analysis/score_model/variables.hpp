#pragma once

#include "headscope/results.hpp"

namespace headscope {

/// The variables of the group `score_model`.
const VariableTable& score_variables();

}  // namespace headscope
