#pragma once

#include <vector>

#include "task_pass.hpp"

namespace headscope {

struct TasksInput : TaskPassInput {
  std::vector<std::vector<Index>> repaired;  ///< per task, as repaired_heads; empty but in the
                                             ///< pass that reads it
};

using TasksPass = TaskPassEntry<TasksInput>;

/// Sums z for its mean over each task.
TasksPass z_averaging_pass();
/// Ablates every head, and takes the gradient and the direct effects.
TasksPass head_effects_pass();
/// Takes the direct effects once more without each head whose ablation later heads make up for.
TasksPass backup_heads_pass();

}  // namespace headscope
