#include "paths/sums.hpp"

#include <algorithm>
#include <cmath>

#include "paths/paths.hpp"
#include "random_draws.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// First stream of the random orders of edges.
constexpr std::uint64_t order_stream = std::uint64_t{1} << 61;

}  // namespace

PathPlan::PathPlan(const Statistics& statistics, std::size_t task, const EdgeGraph& graph,
                   const AnalysisSettings& settings)
    : means_(task_means(statistics, task, settings)) {
  const PathSums names(task);
  for (auto* values : {&first_order_, &integrated_, &p_, &q_})
    values->assign(graph.n_edge(), std::nan(""));
  if (!statistics.has(names.n_pair)) return;
  const Array first_order = statistics.total(names.first_order),
              integrated = statistics.total(names.integrated),
              squares = statistics.total(names.squared_integrated);
  const std::vector<Index> edges = graph.edges_left();
  for (const Index edge : edges) {
    first_order_[edge] = first_order(edge) / means_.n_pair;
    integrated_[edge] = integrated(edge) / means_.n_pair;
    p_[edge] = effect_p(means_.n_pair, integrated(edge), squares(edge), means_.margin.value);
  }
  q_ = benjamini_hochberg(p_);
  order_ = by_size(edges, integrated_);
  const std::uint64_t n_exact = settings.options<PathsOptions>().n_exact;
  for (const Index edge : order_) {
    if (exact_.size() == n_exact) break;
    if (q_[edge] < significant_q) exact_.push_back(edge);
  }
}

std::vector<Index> circuit_steps(Index n_edge) {
  std::vector<Index> steps{0};
  for (Index n = 1; n < n_edge; n *= 2) steps.push_back(n);
  steps.push_back(n_edge);
  return steps;
}

std::vector<Index> by_size(std::vector<Index> edges, const std::vector<double>& effects) {
  std::ranges::stable_sort(edges, std::greater(),
                           [&](Index edge) { return std::abs(effects[edge]); });
  return edges;
}

std::vector<Index> random_edges(const std::vector<Index>& edges, std::size_t task,
                                std::uint64_t seed) {
  std::vector<Index> order = permutation(edges.size(), CounterRandom(seed, order_stream + task));
  for (Index& place : order) place = edges[place];
  return order;
}

std::vector<unsigned char> flags_of(std::span<const Index> edges, Index n_edge) {
  std::vector<unsigned char> flags(n_edge, 0);
  for (const Index edge : edges) flags[edge] = 1;
  return flags;
}

}  // namespace headscope
