#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Group `correlation` from the summed statistics.
ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings);

/// What add_control_comparison needs of a control: inner products by block, and `n_document`.
ControlValues correlation_control_values(const Statistics& statistics);

/// Adds `mean_abs_cosine_control`, `mean_abs_cosine_difference`, the model minus the mean of
/// untrained ones, and the claim that it decides.
/// @param controls  of equal documents.
void add_control_comparison(const Statistics& statistics,
                            const std::vector<ControlValues>& controls,
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
