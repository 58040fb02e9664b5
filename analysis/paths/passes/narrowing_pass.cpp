#include "paths/passes/narrowing_pass.hpp"

#include "headscope/resampling.hpp"
#include "paths/circuit_size.hpp"

namespace headscope {

NarrowingPass::NarrowingPass(const PathsInput& input, int number, const Statistics& earlier)
    : input_(input),
      number_(number),
      means_(node_means(input, earlier)),
      plans_(path_plans(input, earlier)),
      circuit_(input.model, input.compute) {
  for (std::size_t task = 0; task < input.tasks.size(); ++task) {
    sizes_.push_back(CircuitSize(earlier, task, input.graph.n_edge(), input.settings).next());
  }
}

std::uint64_t NarrowingPass::run_batch(std::uint64_t batch, DocumentStatistics& statistics) {
  const std::size_t task = input_.batches[batch].task;
  const SampledPairs pairs = sampled_pairs(input_, input_.batches[batch]);
  if (pairs.number.empty() || sizes_[task].empty()) return 0;
  Array& sum =
      statistics.sum(PathSums(task).narrowed(number_),
                     {n_document_block, CircuitSize::n_point(input_.graph.n_edge())});
  for (std::size_t i = 0; i < sizes_[task].size(); ++i) {
    const std::vector<double> margins =
        circuit_margins(circuit_, input_.model.config, pairs, means_.replacement[task],
                        first_edges(plans_[task].order(), sizes_[task][i]));
    for (std::size_t pair = 0; pair < margins.size(); ++pair) {
      sum(pairs.block_of(pair), i) += margins[pair];
    }
  }
  return pairs.n_token();
}

double NarrowingPass::cost(const PathsInput& input, std::uint64_t batch) {
  return input.n_token(batch) * sampled_share(input, input.batches[batch]) *
         static_cast<double>(CircuitSize::n_point(input.graph.n_edge()));
}

}  // namespace headscope
