#pragma once

#include <vector>

#include "headscope/analysis.hpp"
#include "pair_batches.hpp"
#include "task_pass.hpp"

namespace headscope {

/// What the passes of `tasks` have in common.
struct TasksInput {
  const Model& model;
  const AnalysisSettings& settings;
  const ComputeContext& compute;
  const std::vector<Task>& tasks;
  const std::vector<PairBatch>& batches;
  const std::vector<std::vector<Index>>& repaired;  ///< per task, as repaired_heads; empty until
                                                    ///< the pass that reads it begins

  double n_token(std::uint64_t batch) const { return static_cast<double>(batches[batch].n_column); }
};

using TasksPass = TaskPassEntry<TasksInput>;

/// Sums z for its mean over each task.
TasksPass z_averaging_pass();
/// Ablates every head, and takes the gradient and the direct effects.
TasksPass head_effects_pass();
/// Takes the direct effects once more without each head whose ablation later heads make up for.
TasksPass backup_heads_pass();

}  // namespace headscope
