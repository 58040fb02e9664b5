#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "pair_batches.hpp"

namespace headscope {

/// Names of the sums of the margins of a task's pairs, by block of pairs (document_block).
class MarginSums {
  std::string task_;

 public:
  /// @param task  its number.
  explicit MarginSums(std::size_t task) : task_(" " + std::to_string(task)) {}

  std::string n_pair = name("n_pair");    ///< block
  std::string margin = name("margin");    ///< block, nats
  std::string correct = name("correct");  ///< block, pairs with margin > 0

 protected:
  std::string name(const std::string& sum) const { return sum + task_; }
};

/// The block of pair i of the batch.
std::size_t block_of(const Task& task, const PairBatch& batch, std::size_t i);

/// Adds the margins of a batch's pairs. @param margins  margins_of the batch.
void add_margins(const Task& task, const PairBatch& batch, const std::vector<double>& margins,
                 DocumentStatistics& statistics);

/// What the interval of TaskMeans::accuracy rests on.
inline constexpr const char* accuracy_interval = "pairs counted, the score interval of Wilson 1927";

/// Of all pairs of a task, with intervals over resampled pairs; without pairs no value.
struct TaskMeans {
  double n_pair = 0;
  Estimate accuracy, margin;

  /// Whether the intervals of accuracy and margin lie above one half and 0.
  bool can_do() const;
};

/// Means over resampled pairs.
/// @param n_pair  by block.
/// @param sums    block x value.
std::vector<Estimate> means_of_pairs(const Array& n_pair, const Array& sums,
                                     const AnalysisSettings& settings);

TaskMeans task_means(const Statistics& statistics, std::size_t task,
                     const AnalysisSettings& settings);

}  // namespace headscope
