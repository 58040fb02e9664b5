#pragma once

#include <vector>

#include "tasks/results.hpp"

namespace headscope {

/// One task's values; heads are ablation x layer x head or layer x head.
struct TaskValues {
  TaskMeans means;
  double n_pair_direct = 0;
  std::vector<Estimate> change;  ///< of the margin
  std::vector<double> p, correct_change, first_order;
  std::vector<Estimate> direct_effect, self_repair;
  std::vector<Index> repaired;   ///< units
  std::vector<Estimate> backup;  ///< repaired x unit; no value of earlier and the same layer
  std::vector<double> backup_q;  ///< the same
};

/// A task's values from the summed statistics; without pairs they are NaN.
TaskValues task_values(const Statistics& statistics, std::size_t task, const ModelConfig& config,
                       const AnalysisSettings& settings);

}  // namespace headscope
