#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "headscope/random.hpp"
#include "paths/results.hpp"
#include "random_draws.hpp"

namespace headscope {
namespace {

constexpr std::size_t n_kind = 3;

/// Composition in the weights and the first-order effect of every edge from a head to queries, keys
/// or values of a later layer's heads.
struct HeadEdges {
  std::vector<double> composition, effect;
  std::vector<std::size_t> pair_ends;  ///< the edges between two layers follow each other
};

HeadEdges head_edges(const Array& composition, const Array& first_order, std::size_t kind,
                     const EdgeGraph& graph) {
  HeadEdges edges;
  const Index n_head = graph.n_head();
  for (Index from = 0; from < graph.n_layer(); ++from) {
    for (Index to = from + 1; to < graph.n_layer(); ++to) {
      for (Index a = 0; a < n_head; ++a) {
        for (Index b = 0; b < n_head; ++b) {
          const Index port = graph.port(static_cast<PathPort::Kind>(kind), to, b);
          const double weight = composition(kind, HeadIndex{from, a}.flat(n_head),
                                            HeadIndex{to, b}.flat(n_head)),
                       effect = std::abs(first_order(graph.head(from, a), port));
          if (!std::isfinite(weight) || !std::isfinite(effect)) continue;
          edges.composition.push_back(weight);
          edges.effect.push_back(effect);
        }
      }
      edges.pair_ends.push_back(edges.effect.size());
    }
  }
  return edges;
}

/// The same with the effects between any two layers exchanged at random.
std::vector<double> permuted_effects(const HeadEdges& edges, const CounterRandom& random) {
  std::vector<double> effects(edges.effect.size());
  std::size_t begin = 0;
  for (std::size_t pair = 0; pair < edges.pair_ends.size(); ++pair) {
    const std::size_t n = edges.pair_ends[pair] - begin;
    const std::vector<Index> order = permutation(n, CounterRandom(random.value(pair)));
    for (std::size_t i = 0; i < n; ++i) effects[begin + i] = edges.effect[begin + order[i]];
    begin += n;
  }
  return effects;
}

}  // namespace

void add_composition(const Results& all, const EdgeGraph& graph, const AnalysisSettings& settings,
                     ResultsGroup& group) {
  if (!all.has("circuits") || !all.group("circuits").has("composition")) return;
  const Array& composition = all.group("circuits").variable("composition").values;
  const std::size_t n_task = group.dimension("task").size();
  Array correlation({n_task, n_kind}, std::nan("")), p = correlation;
  double sum = 0;
  std::size_t n_counted = 0;
  std::vector<double> chance(settings.n_bootstrap, 0);
  for (std::size_t task = 0; task < n_task; ++task) {
    const Array first_order = group.values("edge_first_order").part(task);
    for (std::size_t kind = 0; kind < n_kind; ++kind) {
      const HeadEdges edges = head_edges(composition, first_order, kind, graph);
      const double found = spearman(edges.composition, edges.effect);
      correlation(task, kind) = found;
      if (std::isnan(found)) continue;
      const bool counts = group.values("can_do")(task) == 1;
      if (counts) {
        sum += found;
        ++n_counted;
      }
      std::uint64_t n_as_large = 0;
      for (std::uint64_t i = 0; i < settings.n_bootstrap; ++i) {
        // An edge goes to the same place for all tasks and kinds, which are tested together.
        const CounterRandom random(CounterRandom(settings.seed).value(i));
        const double permuted = spearman(edges.composition, permuted_effects(edges, random));
        n_as_large += permuted >= found ? 1 : 0;
        if (counts) chance[i] += permuted;
      }
      if (settings.n_bootstrap >= least_resamples) {
        p(task, kind) =
            static_cast<double>(n_as_large + 1) / static_cast<double>(settings.n_bootstrap + 1);
      }
    }
  }
  group.add(path_variables["composition_correlation"], correlation);
  group.add(path_variables["composition_correlation_p"], p);

  Claim claim;
  claim.number = 17;
  claim.statement = "Heads whose weights compose feed each other on tasks.";
  claim.effect_name =
      "rank correlation of composition in the weights and first-order effect of the edge, less "
      "that of permutations; mean over tasks that the model is shown to do and queries, keys and "
      "values";
  claim.source = "Elhage et al. 2021; Wang et al. 2022";
  if (n_counted == 0) {
    claim.evidence = "Cannot be told: the model is not shown to do any of the tasks.";
    group.claims.push_back(std::move(claim));
    return;
  }
  const auto count = static_cast<double>(n_counted);
  std::vector<double> samples;
  for (const double each : chance) samples.push_back((sum - each) / count);
  double effect = sum / count;
  if (!samples.empty())
    effect =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  if (samples.size() < least_resamples) samples.clear();
  claim.effect = percentile_estimate(effect, std::move(samples));
  claim.verdict = verdict_of(claim.effect, Side::above, 0);
  const auto best = std::ranges::max_element(
      correlation.values, {}, [](double value) { return std::isnan(value) ? -2.0 : value; });
  const std::vector<std::size_t> place =
      unravelled(static_cast<std::size_t>(best - correlation.values.begin()), correlation.shape);
  claim.evidence = "The correlation is largest, " + decimals(*best, 2) + ", on " +
                   spaced(group.labels("task")[place[0]]) + " by " +
                   std::vector<std::string>{"queries", "keys", "values"}[place[1]] +
                   ". Permutations exchange the effects between the same two layers, alike for all "
                   "tasks and for "
                   "queries, keys and values, so that what layers have in common does not count.";
  group.claims.push_back(std::move(claim));
}

}  // namespace headscope
