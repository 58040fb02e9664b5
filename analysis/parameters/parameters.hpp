#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"

namespace headscope {

/// Analysis `parameters`, from weights alone: where the parameters are, what attention costs, and
/// whether its projections are block-diagonal.
RegisteredAnalysis parameters_analysis();

/// Figures from the `parameters` group: parameter_counts, attention_macs, block_energy.
/// @throws Error if the results lack the group.
std::vector<Figure> parameters_figures(const Results& results);

/// The heads of a layer as the architecture has them: `8 heads`, of a model that has lost heads
/// `all of its 8 heads`.
std::string heads_of_layer_text(const ModelConfig& config);

/// Claims 1 to 4 on this model.
/// @param group  the finished group `parameters`.
std::vector<Claim> parameter_claims(const Model& model, const AnalysisSettings& settings,
                                    const ResultsGroup& group);

}  // namespace headscope
