#pragma once

#include "headscope/results.hpp"

namespace headscope {

/// The variables of the group `classification`.
const VariableTable& classification_variables();

}  // namespace headscope
