#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Places on the axis `space`: outputs before and after W_O.
inline constexpr std::size_t head_space = 0, residual_space = 1;

extern const VariableTable correlation_variables;

/// Group `correlation` from the summed statistics.
ResultsGroup correlation_results(const Statistics& statistics, const ModelConfig& config,
                                 const AnalysisSettings& settings);

/// What add_control_comparison needs of a control: inner products by block, and `n_document`.
ControlValues correlation_control_values(const Statistics& statistics);

/// Adds `mean_abs_cosine_control`, `mean_abs_cosine_difference` and its mean,
/// `output_overlap_difference`, each the model minus the mean of untrained ones, and decides the
/// claims about them.
/// @param controls  of equal documents.
void add_control_comparison(const Statistics& statistics,
                            const std::vector<ControlValues>& controls, const ModelConfig& config,
                            const AnalysisSettings& settings, ResultsGroup& group);

/// How alike two heads of a layer write, and whether training changed that.
/// @param trained, untrained  mean |cosine| in residual space, mean over layers.
/// @param before, after  trained minus untrained by layer, of outputs before and after W_O.
std::string likeness_line(double trained, double untrained, const std::vector<Estimate>& before,
                          const std::vector<Estimate>& after);

/// `Heads that share keys and values have a mean absolute cosine of 0.59 in head space, other heads
/// of a layer 0.024.`; empty where no heads share them.
/// @param space  head_space or residual_space.
std::string sharing_text(const Results& results, std::size_t space);

Presentation correlation_presentation();

std::vector<Figure> correlation_figures(const Results& results);

}  // namespace headscope
