#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Every analysis of the program, in the order of the report.
const std::vector<RegisteredAnalysis>& analysis_registry();

}  // namespace headscope
