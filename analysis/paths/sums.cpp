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
    : means(task_means(statistics, task, settings)) {
  const PathSums names(task);
  for (auto* values : {&first_order, &integrated, &p, &q})
    values->assign(graph.n_edge(), std::nan(""));
  if (!statistics.has(names.n_pair)) return;
  const Array first_order_sums = statistics.total(names.first_order),
              integrated_sums = statistics.total(names.integrated),
              squares = statistics.total(names.squared_integrated);
  const std::vector<Index> edges = graph.edges_left();
  for (const Index edge : edges) {
    first_order[edge] = first_order_sums(edge) / means.n_pair;
    integrated[edge] = integrated_sums(edge) / means.n_pair;
    p[edge] = effect_p(means.n_pair, integrated_sums(edge), squares(edge), means.margin.value);
  }
  q = benjamini_hochberg(p);
  order = by_size(edges, integrated);
  const std::uint64_t n_exact = settings.options<PathsOptions>().n_exact;
  for (const Index edge : order) {
    if (exact.size() == n_exact) break;
    if (q[edge] < significant_q) exact.push_back(edge);
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

}  // namespace headscope
