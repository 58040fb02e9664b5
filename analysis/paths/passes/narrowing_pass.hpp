#pragma once

#include "paths/passes/node_averaging_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"

namespace headscope {

/// A pass that narrows down from how many edges on circuits keep most of the margin: runs the
/// circuits of CircuitSize::next.
class NarrowingPass : public TaskPass {
 public:
  /// @param number   of the narrowing pass, from 0 on.
  /// @param earlier  the sums of the passes before.
  NarrowingPass(const PathsInput& input, int number, const Statistics& earlier);
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override;
  /// As TaskAnalysis::batch_cost.
  static double cost(const PathsInput& input, std::uint64_t batch);

 private:
  const PathsInput input_;
  const int number_;
  const NodeMeans means_;
  const std::vector<PathPlan> plans_;      // per task
  std::vector<std::vector<Index>> sizes_;  // per task, numbers of edges to try
  CircuitForward circuit_;
};

}  // namespace headscope
