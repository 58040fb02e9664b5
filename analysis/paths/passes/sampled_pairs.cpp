#include "paths/passes/sampled_pairs.hpp"

#include <set>

#include "headscope/random.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

/// First streams of random draws; a task's is so many further.
constexpr std::uint64_t sample_stream = std::uint64_t{5} << 60,
                        judging_stream = std::uint64_t{7} << 60;

/// Numbers of a task's pairs that are sampled, ascending.
std::set<Index> sampled_of_task(const PathsInput& input, std::size_t task) {
  const std::size_t n_pair = input.tasks[task].pairs.size();
  return spread_sample(n_pair, input.options().n_sampled_pair(n_pair),
                       CounterRandom(input.settings.seed, sample_stream + task));
}

/// Numbers of the batch's pairs that are sampled.
std::vector<std::size_t> sampled_numbers(const PathsInput& input, const PairBatch& batch) {
  const std::set<Index> sampled = sampled_of_task(input, batch.task);
  return {sampled.lower_bound(batch.first), sampled.lower_bound(batch.first + batch.count)};
}

SampledPairs pairs_numbered(const PathsInput& input, std::size_t task,
                            std::vector<std::size_t> numbers) {
  const std::vector<TaskPair>& all = input.tasks[task].pairs;
  SampledPairs pairs{task, {}, std::move(numbers), all.size()};
  for (const std::size_t i : pairs.pair_numbers) pairs.task.pairs.push_back(all[i]);
  return pairs;
}

SampledPairs half_of_pairs(const PathsInput& input, std::size_t task, bool judges) {
  const std::set<Index> all = sampled_of_task(input, task);
  const std::set<Index> judging = spread_sample(
      all.size(), all.size() / 2, CounterRandom(input.settings.seed, judging_stream + task));
  std::vector<std::size_t> numbers;
  for (Index place = 0; const Index pair : all) {
    if (judging.contains(place++) == judges) numbers.push_back(pair);
  }
  return pairs_numbered(input, task, std::move(numbers));
}

std::vector<unsigned char> flags_of(std::span<const Index> edges, Index n_edge) {
  std::vector<unsigned char> flags(n_edge, 0);
  for (const Index edge : edges) flags[edge] = 1;
  return flags;
}

}  // namespace

std::uint64_t SampledPairs::n_token() const {
  return pair_numbers.empty() ? 0 : pair_ends(task, {.count = pair_numbers.size()}).back();
}

SampledPairs sampled_pairs(const PathsInput& input, const PairBatch& batch) {
  return pairs_numbered(input, batch.task, sampled_numbers(input, batch));
}

SampledPairs pruning_pairs(const PathsInput& input, std::size_t task) {
  return half_of_pairs(input, task, false);
}

SampledPairs judging_pairs(const PathsInput& input, std::size_t task) {
  return half_of_pairs(input, task, true);
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
