#pragma once

#include "analysis.hpp"

namespace headscope {

/// Group `correlation` from the summed statistics.
ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings);

/// Adds `mean_abs_cosine_difference`, the model minus an untrained one on the same documents, and
/// the claim that it decides.
void add_control_comparison(const Statistics& statistics, const Statistics& control,
                            const AnalysisSettings& settings, ResultsGroup& group);

/// The part of the report about the group.
/// @param mean_abs_cosine  in residual space, mean over layers.
ReportPart correlation_report(double mean_abs_cosine);

/// The report's line when there is also an untrained model.
/// @param trained, untrained  mean |cosine| in residual space, mean over layers.
/// @param difference          interval of trained minus untrained; NaN if there is none.
Finding likeness_finding(double trained, double untrained, const Estimate& difference);

std::vector<Figure> correlation_figures(const Results& results);

}  // namespace headscope
