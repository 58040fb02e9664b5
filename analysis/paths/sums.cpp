#include "paths/sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "paths/paths.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

/// First stream of the random orders of edges.
constexpr std::uint64_t order_stream = std::uint64_t{1} << 61;

}  // namespace

double edge_p(double n_pair, double sum, double sum_of_squares, double margin) {
  const double rounding = std::numeric_limits<float>::epsilon() * margin;
  return paired_t_p(n_pair, sum, sum_of_squares + n_pair * rounding * rounding);
}

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
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    first_order_[edge] = first_order(edge) / means_.n_pair;
    integrated_[edge] = integrated(edge) / means_.n_pair;
    p_[edge] = edge_p(means_.n_pair, integrated(edge), squares(edge), means_.margin.value);
  }
  q_ = benjamini_hochberg(p_);
  order_ = by_size(integrated_);
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

std::vector<Index> by_size(const std::vector<double>& effects) {
  std::vector<Index> order(effects.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](Index edge) { return std::abs(effects[edge]); });
  return order;
}

std::vector<Index> random_edges(Index n_edge, std::size_t task, std::uint64_t seed) {
  return permutation(n_edge, CounterRandom(seed, order_stream + task));
}

std::vector<unsigned char> flags_of(std::span<const Index> edges, Index n_edge) {
  std::vector<unsigned char> flags(n_edge, 0);
  for (const Index edge : edges) flags[edge] = 1;
  return flags;
}

}  // namespace headscope
