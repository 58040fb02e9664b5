#pragma once

#include "headscope/results.hpp"

namespace headscope {

const VariableTable& classification_variables();

}  // namespace headscope
