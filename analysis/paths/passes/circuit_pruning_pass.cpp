#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/random.hpp"
#include "paths/circuit_pruning.hpp"
#include "paths/circuit_size.hpp"
#include "paths/passes/path_pass.hpp"
#include "paths/passes/sampled_pairs.hpp"
#include "paths/results.hpp"

namespace headscope {
namespace {

/// First stream of the random parts of circuits.
constexpr std::uint64_t pruning_stream = std::uint64_t{3} << 60;

bool is_first_of_task(const PathsInput& input, std::uint64_t batch) {
  return batch == 0 || input.batches[batch - 1].task != input.batches[batch].task;
}

/// The edges to and from each head and MLP, the last first.
std::vector<std::vector<Index>> edges_of_nodes(const EdgeGraph& graph) {
  std::vector<std::vector<Index>> edges(graph.n_node() + 1);
  for (const Index edge : graph.edges_left()) {
    edges[graph.node_of(edge)].push_back(edge);
    edges[graph.owner(graph.port_of(edge))].push_back(edge);
  }
  edges.pop_back();
  edges.erase(edges.begin());
  std::ranges::reverse(edges);
  return edges;
}

class CircuitPruningPass : public TaskPass {
 public:
  CircuitPruningPass(const PathsInput& input, const Statistics& earlier)
      : input_(input), circuits_(input, earlier) {
    for (std::size_t task = 0; task < input.tasks.size(); ++task) {
      fewest_.push_back(
          CircuitSize(earlier, task, input.n_edge_left(), input.settings).fewest().value);
    }
  }
  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    const std::size_t task = input_.batches[batch].task;
    if (!is_first_of_task(input_, batch) || std::isnan(fewest_[task])) return 0;
    const std::vector<Index>& order = circuits_.plan(task).order;
    const SampledPairs pruning = pruning_pairs(input_, task), judging = judging_pairs(input_, task);
    std::uint64_t n_check = 0;
    const auto margin_of = [&](const std::vector<Index>& edges) {
      ++n_check;
      const std::vector<double> margins = circuits_.margins(pruning, edges);
      return std::accumulate(margins.begin(), margins.end(), 0.0);
    };
    const double none = margin_of({}), of_edges = margin_of(order) - none;
    const std::vector<Index> left = pruned_circuit(
        {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(fewest_[task])},
        edges_of_nodes(input_.graph), margin_of, most_lost_share * of_edges,
        none + kept_share * of_edges, CounterRandom(input_.settings.seed, pruning_stream + task));
    add_judged(judging, left, statistics);
    return n_check * pruning.n_token() + 3 * judging.n_token();
  }

 private:
  /// Margins of the judging pairs with no edge, the edges left, and all edges.
  void add_judged(const SampledPairs& judging, const std::vector<Index>& left,
                  DocumentStatistics& statistics) {
    const PathSums names(judging.task_number);
    Array &pruned = statistics.sum(names.pruned, {input_.graph.n_edge()}),
          &n_judged = statistics.sum(names.n_judged, {n_document_block}),
          &margin = statistics.sum(names.pruned_margin, {n_document_block, 3});
    for (const Index edge : left) pruned(edge) += 1;
    for (std::size_t pair = 0; pair < judging.pair_numbers.size(); ++pair)
      n_judged(judging.block_of(pair)) += 1;
    std::size_t place = 0;
    for (const std::vector<Index>& edges :
         {std::vector<Index>(), left, circuits_.plan(judging.task_number).order}) {
      judging.add(circuits_.margins(judging, edges), margin, place++);
    }
  }

  const PathsInput& input_;
  CircuitRuns circuits_;
  std::vector<double> fewest_;  // per task, edges of the circuit to prune; NaN: none
};

double pruning_cost(const PathsInput& input, std::uint64_t batch) {
  if (!is_first_of_task(input, batch)) return 0;
  // Checks of half the pairs of a task.
  constexpr double n_check = 150;
  const PairBatch& first = input.batches[batch];
  const std::size_t n_pair = input.tasks[first.task].pairs.size();
  return n_check / 2 * input.n_token(batch) * static_cast<double>(n_pair) /
         static_cast<double>(first.count) *
         sampled_share(input, {.task = first.task, .count = n_pair});
}

}  // namespace

PathPass circuit_pruning_pass() {
  return {"pruning circuits", make_pass<CircuitPruningPass, PathsInput>, pruning_cost};
}

}  // namespace headscope
