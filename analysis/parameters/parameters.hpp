#pragma once

#include <vector>

#include "analysis.hpp"

namespace headscope {

/// Where the parameters sit, what attention costs, and whether its projections are block-diagonal.
/// Weights only.
RegisteredAnalysis parameters_analysis();

/// Figures from the `parameters` group: parameter_counts, architecture_parameters, attention_macs,
/// block_energy. @throws Error if the results lack the group.
std::vector<Figure> draw_parameters(const Results& results);

}  // namespace headscope
