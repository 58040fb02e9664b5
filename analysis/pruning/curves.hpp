#pragma once

#include "headscope/analysis.hpp"
#include "pruning/document_rows.hpp"

namespace headscope {

/// Adds the pruning curves, the share of heads that can go by tolerance, and a claim about each.
/// Heads that the model has lost are left out.
void add_pruning_curves(const DocumentRows& rows, const ModelConfig& config,
                        const AnalysisSettings& settings, ResultsGroup& group);

}  // namespace headscope
