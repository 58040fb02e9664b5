#include "pair_batches.hpp"

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

Index n_column(const TaskPair& pair) {
  return pair.good.size() + pair.bad.size() - pair.n_shared;
}

}  // namespace

std::vector<PairBatch> pair_batches(const std::vector<Task>& tasks, Index most_columns) {
  std::vector<PairBatch> batches;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const std::vector<TaskPair>& pairs = tasks[task].pairs;
    for (std::size_t first = 0; first < pairs.size();) {
      PairBatch batch{task, first, 0, 0};
      for (; first < pairs.size(); ++first, ++batch.count) {
        const Index n_more = n_column(pairs[first]);
        if (batch.count > 0 && batch.n_column + n_more > most_columns) break;
        if (batch.count == batch_pairs) break;
        batch.n_column += n_more;
      }
      batches.push_back(batch);
    }
  }
  return batches;
}

Index most_batch_columns(Index n_ctx) {
  return std::max(batch_columns, 2 * n_ctx);
}

SequenceBatch sequences_of(const Task& task, const PairBatch& batch, bool with_last) {
  SequenceBatch sequences;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const TaskPair& pair = task.pairs[i];
    sequences.add_pair(pair.good, pair.bad, pair.n_shared, with_last);
  }
  return sequences;
}

std::vector<double> token_counts(const Task& task, const PairBatch& batch) {
  std::vector<double> times;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const TaskPair& pair = task.pairs[i];
    times.push_back(0);
    times.insert(times.end(), pair.n_shared - 1, 2);
    times.insert(times.end(), pair.good.size() + pair.bad.size() - 2 * pair.n_shared, 1);
  }
  return times;
}

std::vector<Index> pair_ends(const Task& task, const PairBatch& batch) {
  std::vector<Index> ends;
  Index end = 0;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const TaskPair& pair = task.pairs[i];
    SequenceBatch alone;
    alone.add_pair(pair.good, pair.bad, pair.n_shared, false);
    ends.push_back(end += alone.n_column());
  }
  return ends;
}

std::vector<float> margin_weights(const Task& task, const PairBatch& batch) {
  std::vector<float> weights;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const TaskPair& pair = task.pairs[i];
    weights.insert(weights.end(), pair.good.size() - pair.n_shared, -1.0F);
    weights.insert(weights.end(), pair.bad.size() - pair.n_shared, 1.0F);
  }
  return weights;
}

std::vector<double> margins_of(const Task& task, const PairBatch& batch,
                               const std::vector<double>& nll) {
  std::vector<double> margins(batch.count, 0);
  auto next = nll.begin();
  for (std::size_t i = 0; i < batch.count; ++i) {
    const TaskPair& pair = task.pairs[batch.first + i];
    for (Index t = pair.n_shared; t < pair.good.size(); ++t) margins[i] -= *next++;
    for (Index t = pair.n_shared; t < pair.bad.size(); ++t) margins[i] += *next++;
  }
  return margins;
}

std::vector<double> first_differences_of(const Task& task, const PairBatch& batch,
                                         const std::vector<double>& nll) {
  std::vector<double> differences(batch.count, std::nan(""));
  auto next = nll.begin();
  for (std::size_t i = 0; i < batch.count; ++i) {
    const TaskPair& pair = task.pairs[batch.first + i];
    const auto n_good = static_cast<std::ptrdiff_t>(pair.good.size() - pair.n_shared),
               n_bad = static_cast<std::ptrdiff_t>(pair.bad.size() - pair.n_shared);
    // Both sides' tokens are predicted from the same one, with the same normalisation.
    if (n_good > 0 && n_bad > 0) differences[i] = *(next + n_good) - *next;
    next += n_good + n_bad;
  }
  return differences;
}

}  // namespace headscope
