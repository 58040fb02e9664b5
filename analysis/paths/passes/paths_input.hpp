#pragma once

#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/edges.hpp"
#include "pair_batches.hpp"
#include "paths/paths.hpp"
#include "paths/sums.hpp"

namespace headscope {

/// What the passes of `paths` have in common.
struct PathsInput {
  const Model& model;
  const EdgeGraph& graph;
  const AnalysisSettings& settings;
  const ComputeContext& compute;
  const std::vector<Task>& tasks;
  const std::vector<PairBatch>& batches;
  const std::vector<std::vector<Index>>& given;  ///< per task, edges in the order of
                                                 ///< --paths-ordering; empty: none

  const PathsOptions& options() const { return settings.own<PathsOptions>(); }
  double n_token(std::uint64_t batch) const { return static_cast<double>(batches[batch].n_column); }
};

/// What the sums of earlier passes say of every task.
inline std::vector<PathPlan> path_plans(const PathsInput& input, const Statistics& earlier) {
  std::vector<PathPlan> plans;
  for (std::size_t task = 0; task < input.tasks.size(); ++task) {
    plans.emplace_back(earlier, task, input.graph, input.settings);
  }
  return plans;
}

}  // namespace headscope
