#include "paths/passes/sampled_pairs.hpp"

namespace headscope {
namespace {

/// Numbers of the batch's pairs that are sampled.
std::vector<std::size_t> sampled_numbers(const PathsInput& input, const PairBatch& batch) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    if (input.options().runs_pair(i, input.tasks[batch.task].pairs.size())) numbers.push_back(i);
  }
  return numbers;
}

SampledPairs pairs_numbered(const Task& task, std::vector<std::size_t> numbers) {
  SampledPairs pairs{{}, std::move(numbers), task.pairs.size()};
  for (const std::size_t i : pairs.number) pairs.task.pairs.push_back(task.pairs[i]);
  return pairs;
}

}  // namespace

std::uint64_t SampledPairs::n_token() const {
  return number.empty() ? 0 : pair_ends(task, {0, 0, number.size(), 0}).back();
}

SampledPairs sampled_pairs(const PathsInput& input, const PairBatch& batch) {
  return pairs_numbered(input.tasks[batch.task], sampled_numbers(input, batch));
}

SampledPairs half_of_pairs(const PathsInput& input, std::size_t task, std::size_t parity) {
  const std::vector<std::size_t> all =
      sampled_numbers(input, {task, 0, input.tasks[task].pairs.size(), 0});
  std::vector<std::size_t> numbers;
  for (std::size_t i = parity; i < all.size(); i += 2) numbers.push_back(all[i]);
  return pairs_numbered(input.tasks[task], std::move(numbers));
}

double sampled_share(const PathsInput& input, const PairBatch& batch) {
  return static_cast<double>(sampled_numbers(input, batch).size()) /
         static_cast<double>(std::max<std::size_t>(1, batch.count));
}

std::vector<double> margins_by_pair(
    const SampledPairs& pairs, Index most_columns,
    const std::function<TokenLoss(const SequenceBatch& sequences)>& run) {
  std::vector<double> margins;
  for (const PairBatch& part : pair_batches({pairs.task}, most_columns)) {
    const SequenceBatch sequences = sequences_of(pairs.task, part, false);
    const std::vector<double> of_part = margins_of(pairs.task, part, run(sequences).nll);
    margins.insert(margins.end(), of_part.begin(), of_part.end());
  }
  return margins;
}

std::vector<double> circuit_margins(CircuitForward& circuit, const ModelConfig& config,
                                    const SampledPairs& pairs, const Matrix& replacement,
                                    std::span<const unsigned char> kept) {
  return margins_by_pair(pairs, CircuitForward::columns_at_once(config),
                         [&](const SequenceBatch& sequences) {
                           return circuit.run(sequences, replacement, kept);
                         });
}

}  // namespace headscope
