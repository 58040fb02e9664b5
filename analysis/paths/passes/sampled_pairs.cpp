#include "paths/passes/sampled_pairs.hpp"

namespace headscope {
namespace {

/// Numbers of the batch's pairs that are sampled.
std::vector<std::size_t> sampled_numbers(const PathsInput& input, const PairBatch& batch) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    if (input.options().is_sampled_pair(i, input.tasks[batch.task].pairs.size()))
      numbers.push_back(i);
  }
  return numbers;
}

SampledPairs pairs_numbered(const PathsInput& input, std::size_t task,
                            std::vector<std::size_t> numbers) {
  const std::vector<TaskPair>& all = input.tasks[task].pairs;
  SampledPairs pairs{task, {}, std::move(numbers), all.size()};
  for (const std::size_t i : pairs.pair_numbers) pairs.task.pairs.push_back(all[i]);
  return pairs;
}

}  // namespace

std::uint64_t SampledPairs::n_token() const {
  return pair_numbers.empty() ? 0 : pair_ends(task, {0, 0, pair_numbers.size(), 0}).back();
}

SampledPairs sampled_pairs(const PathsInput& input, const PairBatch& batch) {
  return pairs_numbered(input, batch.task, sampled_numbers(input, batch));
}

SampledPairs half_of_pairs(const PathsInput& input, std::size_t task, std::size_t parity) {
  const std::vector<std::size_t> all =
      sampled_numbers(input, {task, 0, input.tasks[task].pairs.size(), 0});
  std::vector<std::size_t> numbers;
  for (std::size_t i = parity; i < all.size(); i += 2) numbers.push_back(all[i]);
  return pairs_numbered(input, task, std::move(numbers));
}

double sampled_share(const PathsInput& input, const PairBatch& batch) {
  return static_cast<double>(sampled_numbers(input, batch).size()) /
         static_cast<double>(std::max<std::size_t>(1, batch.count));
}

CircuitRuns::CircuitRuns(const PathsInput& input, const Statistics& earlier)
    : input_(input), means_(node_means(input, earlier)), circuit_(input.model, input.compute) {
  for (std::size_t task = 0; task < input.tasks.size(); ++task) {
    plans_.emplace_back(earlier, task, input.graph, input.settings);
  }
}

std::vector<double> CircuitRuns::margins(const SampledPairs& pairs, std::span<const Index> edges) {
  const std::vector<unsigned char> kept = flags_of(edges, input_.graph.n_edge());
  return margins_by(pairs, [&](const SequenceBatch& sequences) {
    return circuit_.run(sequences, replacement(pairs.task_number), kept);
  });
}

std::vector<double> CircuitRuns::margins(const SampledPairs& pairs, Forward& model) const {
  return margins_by(pairs, [&](const SequenceBatch& sequences) {
    return model.loss(model.run(sequences), sequences);
  });
}

std::vector<double> CircuitRuns::margins_by(
    const SampledPairs& pairs,
    const std::function<TokenLoss(const SequenceBatch& sequences)>& run) const {
  std::vector<double> margins;
  for (const PairBatch& part :
       pair_batches({pairs.task}, CircuitForward::columns_at_once(input_.model.config))) {
    const SequenceBatch sequences = sequences_of(pairs.task, part, false);
    const std::vector<double> of_part = margins_of(pairs.task, part, run(sequences).nll);
    margins.insert(margins.end(), of_part.begin(), of_part.end());
  }
  return margins;
}

}  // namespace headscope
