#include "paths/circuit_size.hpp"
#include "paths/passes/path_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"

namespace headscope {
namespace {

class NarrowingPass : public TaskPass {
 public:
  NarrowingPass(const PathsInput& input, int number, const Statistics& earlier)
      : input_(input), number_(number), circuits_(input, earlier) {
    for (std::size_t task = 0; task < input.tasks.size(); ++task) {
      sizes_.push_back(CircuitSize(earlier, task, input.n_edge_left(), input.settings).next());
    }
  }

  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const std::size_t task = input_.batches[batch].task;
    const SampledPairs pairs = sampled_pairs(input_, input_.batches[batch]);
    if (pairs.pair_numbers.empty() || sizes_[task].empty()) return 0;
    Array& sum = statistics.sum(PathSums(task).narrowed(number_),
                                {n_document_block, CircuitSize::n_point(input_.n_edge_left())});
    for (std::size_t i = 0; i < sizes_[task].size(); ++i) {
      const std::span order(circuits_.plan(task).order);
      pairs.add(circuits_.margins(pairs, order.first(sizes_[task][i])), sum, i);
    }
    return pairs.n_token();
  }

 private:
  const PathsInput& input_;
  const int number_;
  CircuitRuns circuits_;
  std::vector<std::vector<Index>> sizes_;  // per task, numbers of edges to try
};

}  // namespace

PathPass narrowing_pass(int number) {
  return {"narrowing circuits (" + std::to_string(number + 1) + " of " +
              std::to_string(n_narrowing_pass) + ")",
          [number](const PathsInput& input, const Statistics& earlier) {
            return std::make_unique<NarrowingPass>(input, number, earlier);
          },
          [](const PathsInput& input, std::uint64_t batch) {
            return input.n_token(batch) * sampled_share(input, input.batches[batch]) *
                   static_cast<double>(CircuitSize::n_point(input.n_edge_left()));
          }};
}

}  // namespace headscope
