#pragma once

#include <string>
#include <vector>

#include "analysis.hpp"

namespace headscope {

/// Claim 5 on this model, a part for each projection, from the finished datasets of `circuits`.
std::vector<Claim> circuit_claims(const ResultsGroup& group, const AnalysisSettings& settings);

/// What the circuits show on this model, in sentences.
std::string circuit_summary(const ResultsGroup& group);

/// What the report says and shows of them.
ReportPart circuit_report(const ResultsGroup& group);

}  // namespace headscope
