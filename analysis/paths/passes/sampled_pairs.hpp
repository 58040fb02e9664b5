#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headscope/circuit.hpp"
#include "headscope/resampling.hpp"
#include "paths/passes/path_pass.hpp"

namespace headscope {

/// The pairs of a task in which edges are ablated exactly and on which circuits are run.
struct SampledPairs {
  std::size_t task_number = 0;
  Task task;                              ///< with only the sampled pairs
  std::vector<std::size_t> pair_numbers;  ///< for each sampled pair, its number in the full task
  std::size_t n_task_pair = 0;            ///< pairs of the full task

  /// The block of pairs that the pair belongs to.
  std::size_t block_of(std::size_t pair) const {
    return document_block(pair_numbers[pair], n_task_pair);
  }
  /// Adds a value of each pair to a sum by block, at `place` along its other axes.
  template <typename... Place>
  void add(const std::vector<double>& values, Array& sum, Place... place) const {
    for (std::size_t pair = 0; pair < values.size(); ++pair) {
      sum(block_of(pair), place...) += values[pair];
    }
  }
  /// Tokens of the sampled pairs' sequences.
  std::uint64_t n_token() const;
};

/// The sampled pairs of one batch.
SampledPairs sampled_pairs(const PathsInput& input, const PairBatch& batch);
/// Half of a task's sampled pairs: of each two, one at random judges circuits, the other prunes
/// them. Without chance a file in which kinds of pairs alternate would give each half one kind.
SampledPairs pruning_pairs(const PathsInput& input, std::size_t task);
SampledPairs judging_pairs(const PathsInput& input, std::size_t task);

/// Share of a batch's pairs that are sampled.
double sampled_share(const PathsInput& input, const PairBatch& batch);

/// Runs circuits on sampled pairs.
class CircuitRuns {
 public:
  /// @param earlier  with the sums of the first two passes.
  CircuitRuns(const PathsInput& input, const Statistics& earlier);

  /// By task: what the sums say of its edges, and what replaces the outputs of nodes.
  const PathPlan& plan(std::size_t task) const { return plans_[task]; }
  const Matrix& replacement(std::size_t task) const { return means_.replacement[task]; }

  /// Margins by pair where only these edges are kept, nats.
  std::vector<double> margins(const SampledPairs& pairs, std::span<const Index> edges);
  /// Margins by pair, nats, from losses in the whole model.
  std::vector<double> margins(const SampledPairs& pairs, Forward& model) const;

 private:
  /// @param run  returns the losses of some of the pairs.
  std::vector<double> margins_by(
      const SampledPairs& pairs,
      const std::function<TokenLoss(const SequenceBatch& sequences)>& run) const;

  const PathsInput& input_;
  const NodeMeans means_;
  std::vector<PathPlan> plans_;
  CircuitForward circuit_;
};

}  // namespace headscope
