#pragma once

#include <vector>

#include "headscope/sequence_batch.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Consecutive pairs of one task that are run together.
struct PairBatch {
  std::size_t task = 0;
  std::size_t first = 0, count = 0;  ///< pairs of the task
  Index n_column = 0;                ///< of their sequences with last tokens
};

/// Largest number of columns in a batch of several pairs. Matrix products of this width run at full
/// speed.
inline constexpr Index batch_columns = 1024;
/// Largest number of pairs in a batch: bounds what is kept for each pair.
inline constexpr Index batch_pairs = 128;

/// All pairs in batches, in order. Depends on the tasks alone, so that shards run the same batches.
std::vector<PairBatch> pair_batches(const std::vector<Task>& tasks,
                                    Index most_columns = batch_columns);

/// Upper bound on the columns of a batch, for a model with this context.
Index most_batch_columns(Index n_ctx);

/// The batch's pairs side by side. @param with_last  see SequenceBatch::add_pair.
SequenceBatch sequences_of(const Task& task, const PairBatch& batch, bool with_last);

/// For each column of the batch's sequences with last tokens, the number of sides it belongs to: 2
/// if shared, else 1; 0 at position 0.
std::vector<double> token_counts(const Task& task, const PairBatch& batch);

/// By pair, the first column after the pair's, in sequences_of(task, batch, false).
std::vector<Index> pair_ends(const Task& task, const PairBatch& batch);

/// What each negative log likelihood of the batch's sequences is multiplied by so that they add up
/// to the sum of the margins.
std::vector<float> margin_weights(const Task& task, const PairBatch& batch);

/// Margin of every pair: sum of ln p of the good side's tokens minus that of the bad side's, nats.
/// @param nll  of the predictions of the batch's sequences.
std::vector<double> margins_of(const Task& task, const PairBatch& batch,
                               const std::vector<double>& nll);

/// logit(good's token) - logit(bad's token) of every pair at the first token that differs; NaN if a
/// side ends there.
/// @param nll  of the predictions of the batch's sequences.
std::vector<double> first_differences_of(const Task& task, const PairBatch& batch,
                                         const std::vector<double>& nll);

}  // namespace headscope
