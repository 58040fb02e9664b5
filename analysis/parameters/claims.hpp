#pragma once

#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// Claims 1 to 4 on this model.
/// @param group  the finished group `parameters`.
std::vector<Claim> parameter_claims(const Model& model, const AnalysisSettings& settings,
                                    const ResultsGroup& group);

}  // namespace headscope
