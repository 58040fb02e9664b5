#pragma once

#include "headscope/run.hpp"
#include "run/model_run.hpp"

namespace headscope {

/// Adds the groups of an analysis. The one with `info.name` gets `info.title`.
void add_titled(std::vector<ResultsGroup> of_analysis, const AnalysisInfo& info,
                std::vector<ResultsGroup>& groups);

/// What remains of the control models.
struct FinishedControls {
  std::size_t n_untrained = 0, n_permuted = 0;
  std::map<std::string, Controls> by_analysis;
  std::vector<ResultsGroup> groups;  ///< named as in the results; of the first model alone

  /// Takes what a model has once its statistics are complete. @param number  of the control.
  void add(const ModelRun& control, int number);
};

/// Turns complete statistics into results with their provenance.
/// @param controls  empty unless a control was asked for.
Results finish_results(const RunInput& input, const ModelRun& trained, FinishedControls controls,
                       RunMonitor& monitor);

}  // namespace headscope
