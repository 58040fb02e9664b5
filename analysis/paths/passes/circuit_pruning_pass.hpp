#pragma once

#include "paths/passes/node_averaging_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"

namespace headscope {

/// The last pass: prunes the circuits that the passes before found, by exact checks on half the
/// sampled pairs, and runs what is left on the other half. All pairs of a task are run in its first
/// batch.
class CircuitPruningPass : public TaskPass {
 public:
  /// @param earlier  the sums of the passes before.
  CircuitPruningPass(const PathsInput& input, const Statistics& earlier);
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override;
  /// As TaskAnalysis::batch_cost.
  static double cost(const PathsInput& input, std::uint64_t batch);

 private:
  std::vector<double> margins_with(std::size_t task, const SampledPairs& pairs,
                                   const std::vector<Index>& edges);
  /// Margins of the odd pairs with no edge, those left, and all.
  void add_judged(std::size_t task, const SampledPairs& odd, const std::vector<Index>& left,
                  DocumentStatistics& statistics);

  const PathsInput input_;
  const NodeMeans means_;
  const std::vector<PathPlan> plans_;  // per task
  std::vector<double> fewest_;         // per task, edges of the circuit to prune; NaN: none
  CircuitForward circuit_;
};

}  // namespace headscope
