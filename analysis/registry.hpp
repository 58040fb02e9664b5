#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Every analysis of the program, in the order of the report.
const std::vector<RegisteredAnalysis>& analysis_registry();

/// The presentations of a run's groups, in the order of the report.
std::vector<Presentation> run_presentations();

/// The same, or that of a comparison, if the results are one.
std::vector<Presentation> presentations_of(const Results& results);

}  // namespace headscope
