#pragma once

#include "headscope/analysis.hpp"
#include "pruning/document_rows.hpp"

namespace headscope {

/// Adds the pruning curves, the share of heads that can go by tolerance, and a claim about each.
void add_pruning_curves(const DocumentRows& rows, const AnalysisSettings& settings,
                        ResultsGroup& group);

}  // namespace headscope
