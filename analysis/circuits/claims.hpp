#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// Claim 5 on this model, one part per projection, from the finished group `circuits`.
std::vector<Claim> circuit_claims(const ResultsGroup& group, const AnalysisSettings& settings);

/// Sentences about this model's circuits.
/// @param induction  heads that are induction heads.
std::string circuit_summary(const ResultsGroup& group, const std::vector<std::size_t>& induction);

Presentation circuits_presentation();

}  // namespace headscope
