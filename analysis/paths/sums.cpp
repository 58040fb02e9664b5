#include "paths/sums.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "paths/circuit_size.hpp"
#include "paths/paths.hpp"
#include "random_draws.hpp"
#include "significance.hpp"

namespace headscope {
namespace {

/// First stream of the random orders of edges.
constexpr std::uint64_t order_stream = std::uint64_t{1} << 61;

/// Faithfulness by order and step, from the sums of margins by block, order and step.
std::vector<Estimate> faithfulness_of(const Array& kept, std::size_t n_step,
                                      const Bootstrap& bootstrap) {
  return bootstrap.estimates([&](const BootstrapCounts& weights) {
    std::vector<double> margins = kept.weighted_sum(weights).values;
    for (std::size_t first = 0; first < margins.size(); first += n_step) {
      const auto of_order = std::span(margins).subspan(first, n_step);
      const double none = of_order.front(), all = of_order.back();
      for (double& kept_margin : of_order) kept_margin = faithfulness(kept_margin, none, all);
    }
    return margins;
  });
}

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

ExactValues exact_values(const Statistics& statistics, std::size_t task, std::size_t n_edge,
                         std::size_t n_step, double margin, const AnalysisSettings& settings) {
  const PathSums names(task);
  ExactValues values;
  values.faithfulness.resize(n_path_order * n_step);
  values.given.resize(n_step);
  if (!statistics.has(names.n_exact)) return values;
  const Array n_pair = statistics.total(names.n_exact);
  const Bootstrap bootstrap = settings.bootstrap(n_pair.values);
  values.n_pair = weighted_sum(n_pair.values, bootstrap.observed());
  if (n_edge > 0) {
    const Array squared = statistics.total(names.squared_change);
    values.change = means_of_pairs(n_pair, statistics.total(names.change), settings);
    for (std::size_t edge = 0; edge < n_edge; ++edge) {
      values.p.push_back(effect_p(values.n_pair, values.change[edge].value * values.n_pair,
                                  squared(edge), margin));
    }
    values.q = benjamini_hochberg(values.p);
  }
  if (!statistics.has(names.kept)) return values;
  values.faithfulness = faithfulness_of(statistics.total(names.kept), n_step, bootstrap);
  if (statistics.has(names.given)) {
    values.given = faithfulness_of(statistics.total(names.given), n_step, bootstrap);
  }
  return values;
}

PrunedCircuit pruned_values(const Statistics& statistics, std::size_t task,
                            const AnalysisSettings& settings) {
  const PathSums names(task);
  PrunedCircuit circuit;
  if (!statistics.has(names.pruned)) return circuit;
  circuit.kept = statistics.total(names.pruned).values;
  const Array margin = statistics.total(names.pruned_margin);
  const Bootstrap bootstrap = settings.bootstrap(statistics.total(names.n_judged).values);
  circuit.faithfulness = bootstrap.estimates([&](const BootstrapCounts& weights) {
    const Array sums = margin.weighted_sum(weights);
    return std::vector<double>{faithfulness(sums(1), sums(0), sums(2))};
  })[0];
  return circuit;
}

}  // namespace headscope
