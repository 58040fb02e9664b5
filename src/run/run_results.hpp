#pragma once

#include "headscope/run.hpp"
#include "run/model_run.hpp"

namespace headscope {

/// Adds the groups of an analysis. The one with `info.name` gets `info.title`.
void add_titled(std::vector<ResultsGroup> of_analysis, const AnalysisInfo& info,
                std::vector<ResultsGroup>& groups);

/// What remains of a control model once its statistics are complete.
struct FinishedControl {
  std::vector<ResultsGroup> groups;  ///< named as in the results; of the first model alone
  std::map<std::string, ControlValues> values;  ///< by analysis
};

struct FinishedControls {
  std::vector<FinishedControl> untrained, permuted;

  bool empty() const { return untrained.empty() && permuted.empty(); }
  Controls of(const std::string& analysis) const;
};

/// @param with_groups  of the first control.
FinishedControl finish_control(const ModelRun& control, bool with_groups);

/// Turns complete statistics into results with their provenance.
/// @param controls  empty unless a control was asked for.
Results finish_results(const RunInput& input, const ModelRun& trained,
                       const FinishedControls& controls, RunMonitor& monitor);

}  // namespace headscope
