#pragma once

#include "headscope/ablation.hpp"
#include "paths/integrated.hpp"
#include "paths/passes/node_averaging_pass.hpp"

namespace headscope {

/// The second pass: takes the margins of all pairs, and the effect of every edge on them from
/// gradients.
class EdgeGradientPass : public TaskPass {
 public:
  /// @param earlier  the sums of the first pass.
  EdgeGradientPass(const PathsInput& input, const Statistics& earlier)
      : input_(input),
        means_(node_means(input, earlier)),
        forward_(input.model, input.compute),
        clean_(input.model, input.compute, input.settings.ablation(0)),
        gradient_(input.model, input.compute, input.options().n_gradient_step()) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override;
  /// As TaskAnalysis::batch_cost.
  static double cost(const PathsInput& input, std::uint64_t batch);

 private:
  void add_margins(const PairBatch& pairs, const SequenceBatch& sequences,
                   DocumentStatistics& statistics);

  const PathsInput input_;
  const NodeMeans means_;
  Forward forward_;
  HeadAblation clean_;  // keeps the batch's activations
  IntegratedEdges gradient_;
};

}  // namespace headscope
