#pragma once

#include "headscope/edge_ablation.hpp"
#include "paths/passes/node_averaging_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"

namespace headscope {

/// The third pass: ablates the largest edges exactly, and runs circuits of 0, 1, 2, 4, ... edges in
/// several orders.
class ExactPass : public TaskPass {
 public:
  /// @param earlier  the sums of the first two passes.
  ExactPass(const PathsInput& input, const Statistics& earlier)
      : input_(input),
        means_(node_means(input, earlier)),
        plans_(path_plans(input, earlier)),
        forward_(input.model, input.compute),
        clean_(input.model, input.compute, input.settings.ablation(0)),
        edges_(input.model, input.compute),
        circuit_(input.model, input.compute) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override;
  /// As TaskAnalysis::batch_cost.
  static double cost(const PathsInput& input, std::uint64_t batch);

 private:
  std::uint64_t add_edges(const SampledPairs& pairs, std::size_t task,
                          DocumentStatistics& statistics);
  std::uint64_t add_circuits(const SampledPairs& pairs, std::size_t task,
                             DocumentStatistics& statistics);

  const PathsInput input_;
  const NodeMeans means_;
  const std::vector<PathPlan> plans_;  // per task
  Forward forward_;
  HeadAblation clean_;  // keeps the activations of a part of a batch
  EdgeAblation edges_;
  CircuitForward circuit_;
};

}  // namespace headscope
