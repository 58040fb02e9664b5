#pragma once

#include "analysis.hpp"

namespace headscope {

/// Group `correlation` from the summed statistics.
ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings);

/// Adds `mean_abs_cosine_difference` and the claim it settles: the model less an untrained one on
/// the same documents.
void add_control_comparison(const Statistics& statistics, const Statistics& control,
                            const ModelConfig& config, const AnalysisSettings& settings,
                            ResultsGroup& group);

std::vector<Figure> draw_correlation(const Results& results);

}  // namespace headscope
