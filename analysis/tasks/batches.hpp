#pragma once

#include <vector>

#include "headscope/pack.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Consecutive pairs of one task that are run together.
struct PairBatch {
  std::size_t task = 0;
  std::size_t first = 0, count = 0;  ///< pairs of the task
  Index n_column = 0;                ///< of their pack with last tokens
};

/// Columns of a batch, at most, if its pairs are more than one: as wide as matrix products need to
/// run at full speed.
inline constexpr Index batch_columns = 1024;

/// All pairs in batches, in order. Depends on the tasks alone, so that shards run the same batches.
std::vector<PairBatch> pair_batches(const std::vector<Task>& tasks);

/// Columns of the longest batch of a model with this context.
Index most_batch_columns(Index n_ctx);

/// The batch's pairs side by side. @param with_last  see Pack::add_pair.
Pack pack_of(const Task& task, const PairBatch& batch, bool with_last);

/// Margin of every pair: sum of ln p of the good side's tokens minus that of the bad side's, nats.
/// @param nll  of the predictions of the batch's pack.
std::vector<double> margins_of(const Task& task, const PairBatch& batch,
                               const std::vector<double>& nll);

}  // namespace headscope
