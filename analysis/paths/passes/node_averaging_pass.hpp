#pragma once

#include <vector>

#include "headscope/forward.hpp"
#include "paths/passes/paths_input.hpp"
#include "task_pass.hpp"

namespace headscope {

/// The first pass: sums what nodes write over the tokens of each task, for its mean.
class NodeAveragingPass : public TaskPass {
 public:
  NodeAveragingPass(const PathsInput& input, const Statistics& /*earlier*/)
      : input_(input), forward_(input.model, input.compute) {}
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override;
  /// As TaskAnalysis::batch_cost.
  static double cost(const PathsInput& input, std::uint64_t batch) { return input.n_token(batch); }

 private:
  const PathsInput input_;
  Forward forward_;
};

/// What replaces the outputs of nodes on each task.
struct NodeMeans {
  /// d_model x (n_node n_position), the positions of a node side by side; zero with zero ablation
  /// or without tokens.
  std::vector<Matrix> replacement;
  std::vector<Vector> token;  ///< d_model, mean token embedding
};

/// @param earlier  the sums of the first pass.
NodeMeans node_means(const PathsInput& input, const Statistics& earlier);

}  // namespace headscope
