#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/random.hpp"
#include "paths/results.hpp"
#include "random_draws.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

constexpr std::size_t n_kind = 3;

/// The heads of every layer relabelled: labels[i] is the head whose weights stand for head i.
using HeadLabels = std::vector<Index>;

HeadLabels same_labels(const EdgeGraph& graph) {
  HeadLabels labels(graph.n_layer() * graph.n_head());
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

/// By group that shares keys and values, its heads that are not removed, numbered as in HeadLabels.
std::vector<std::vector<Index>> heads_left(const EdgeGraph& graph, Index layer) {
  const Index n_head = graph.n_head(), n_group = graph.n_group();
  std::vector<std::vector<Index>> heads(n_group);
  for (Index h = 0; h < n_head; ++h) {
    if (graph.is_removed(graph.head(layer, h))) continue;
    heads[h / (n_head / n_group)].push_back(layer * n_head + h);
  }
  return heads;
}

/// Heads exchanged at random within layers: the groups that share keys and values, among those with
/// as many heads left, and the heads of a group. Removed heads stay.
HeadLabels random_labels(const EdgeGraph& graph, const CounterRandom& random) {
  const Index n_group = graph.n_group();
  HeadLabels labels = same_labels(graph);
  for (Index l = 0; l < graph.n_layer(); ++l) {
    const CounterRandom of_layer(random.value(l));
    const std::vector<std::vector<Index>> left = heads_left(graph, l);
    std::vector<Index> groups = permutation(n_group, CounterRandom(of_layer.value(0)));
    for (Index g = 0; g < n_group; ++g) {
      const Index n_left = left[g].size();
      const auto group = std::ranges::find_if(
          groups, [&](Index candidate) { return left[candidate].size() == n_left; });
      const std::vector<Index> order = permutation(n_left, CounterRandom(of_layer.value(1 + g)));
      for (Index i = 0; i < n_left; ++i) labels[left[g][i]] = left[*group][order[i]];
      groups.erase(group);
    }
  }
  return labels;
}

/// Whether random_labels can exchange any heads.
bool can_exchange(const EdgeGraph& graph) {
  for (Index l = 0; l < graph.n_layer(); ++l) {
    Index n_single = 0;
    for (const std::vector<Index>& heads : heads_left(graph, l)) {
      n_single += heads.size() == 1 ? 1 : 0;
      if (heads.size() > 1 || n_single > 1) return true;
    }
  }
  return false;
}

/// Composition in the weights and effect of every edge from a head to queries, keys or values of a
/// later layer's heads.
struct HeadEdges {
  std::vector<double> composition, effect;
};

/// @param composition  kind x head x head.
/// @param effects      node x port.
/// @param labels       of the heads of `composition`.
HeadEdges head_edges(const Array& composition, const Array& effects, std::size_t kind,
                     const EdgeGraph& graph, const HeadLabels& labels) {
  HeadEdges edges;
  const Index n_head = graph.n_head(), n_node = graph.n_layer() * n_head;
  const auto is_removed = [&](Index head) {
    return graph.is_removed(graph.head(head / n_head, head % n_head));
  };
  for (Index writer = 0; writer < n_node; ++writer) {
    const Index node = graph.head(writer / n_head, writer % n_head);
    for (Index reader = (writer / n_head + 1) * n_head; reader < n_node;) {
      const Index number =
          graph.port(static_cast<PathPort::Kind>(kind), reader / n_head, reader % n_head);
      // Heads that share keys or values are one reader.
      const Index n_shared = graph.port(number).n_head;
      auto readers = std::views::iota(reader, reader + n_shared) |
                     std::views::filter([&](Index head) { return !is_removed(head); });
      const auto n_reader = static_cast<double>(std::ranges::distance(readers));
      double weight = 0;
      for (const Index head : readers) {
        weight += composition(kind, labels[writer], labels[head]) / n_reader;
      }
      const double effect = std::abs(effects(node, number));
      if (std::isfinite(weight) && std::isfinite(effect)) {
        edges.composition.push_back(weight);
        edges.effect.push_back(effect);
      }
      reader += n_shared;
    }
  }
  return edges;
}

double correlation_of(const HeadEdges& edges) {
  return spearman(edges.composition, edges.effect);
}

/// The correlation with an interval as wide as relabelled heads spread: `found` less how far each
/// of their correlations lies above `chance`, their mean.
Estimate relabelling_estimate(double found, double chance,
                              const std::vector<double>& of_relabelled) {
  std::vector<double> samples;
  for (const double correlation : of_relabelled) samples.push_back(found - (correlation - chance));
  Estimate estimate = within(percentile_estimate(found, std::move(samples)), -1, 1);
  estimate.resamples.clear();
  return estimate;
}

}  // namespace

void add_composition(const Results& all, const EdgeGraph& graph, const AnalysisSettings& settings,
                     ResultsGroup& group) {
  if (!all.has("circuits") || !all.group("circuits").has("composition")) return;
  const Array& composition = all.group("circuits").variable("composition").values;
  const std::size_t n_task = group.dimension("task").size();
  std::vector<Estimate> correlation(n_task * n_kind);
  Array p({n_task, n_kind}, std::nan("")), chance_correlation = p;
  const std::vector<std::string> kinds{"queries", "keys", "values"};
  std::vector<std::vector<double>> counted(n_kind);  // correlations by kind
  double sum = 0, largest = -2;
  std::size_t n_counted = 0;
  std::string largest_on;
  std::vector<double> chance(settings.n_bootstrap, 0);
  // All tasks and kinds are tested together, with the same permutations.
  std::vector<HeadLabels> labels;
  const bool exchanges = can_exchange(graph);
  for (std::uint64_t i = 0; exchanges && i < settings.n_bootstrap; ++i) {
    labels.push_back(random_labels(graph, CounterRandom(CounterRandom(settings.seed).value(i))));
  }
  for (std::size_t task = 0; task < n_task; ++task) {
    const Array effects = group.values("edge_integrated").part(task);
    for (std::size_t kind = 0; kind < n_kind; ++kind) {
      const double found =
          correlation_of(head_edges(composition, effects, kind, graph, same_labels(graph)));
      correlation[task * n_kind + kind].value = found;
      if (std::isnan(found)) continue;
      const bool counts = group.values("can_do")(task) == 1;
      if (counts) {
        sum += found;
        ++n_counted;
        counted[kind].push_back(found);
      }
      if (counts && found > largest) {
        largest = found;
        largest_on = task_name(group, task) + " by " + kinds[kind];
      }
      std::vector<double> of_relabelled;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        const double permuted =
            correlation_of(head_edges(composition, effects, kind, graph, labels[i]));
        of_relabelled.push_back(permuted);
        if (counts) chance[i] += permuted;
      }
      if (labels.size() >= least_resamples) {
        const auto n_as_large = std::ranges::count_if(
            of_relabelled, [&](double permuted) { return permuted >= found; });
        p(task, kind) =
            static_cast<double>(n_as_large + 1) / static_cast<double>(labels.size() + 1);
        chance_correlation(task, kind) = mean_of_numbers(of_relabelled);
        correlation[task * n_kind + kind] =
            relabelling_estimate(found, chance_correlation(task, kind), of_relabelled);
      }
    }
  }
  group.add(path_variables["composition_correlation"], correlation);
  group.add(path_variables["composition_correlation_chance"], chance_correlation);
  group.add(path_variables["composition_correlation_p"], p);

  Claim claim;
  claim.number = 17;
  claim.statement = "Heads whose weights compose feed each other on tasks.";
  claim.effect_name =
      "rank correlation between composition in the weights and integrated effect of the edge, "
      "minus the correlation with heads permuted at random; mean over queries, keys, values and "
      "the tasks that the model is shown to do";
  claim.source = "Elhage et al. 2021; Wang et al. 2022";
  if (n_counted == 0 || !exchanges) {
    const bool does_a_task = std::ranges::count(group.values("can_do").values, 1) > 0;
    claim.evidence =
        "Cannot be told: " +
        (!does_a_task     ? not_done_text(group)
         : n_counted == 0 ? "too few edges lead from a head to a head of a later layer to "
                            "correlate them"
                          : "no layer has two heads to exchange") +
        ".";
    group.claims.push_back(std::move(claim));
    return;
  }
  const auto count = static_cast<double>(n_counted);
  std::vector<double> samples;
  for (const double by_chance : chance) samples.push_back((sum - by_chance) / count);
  double effect = sum / count;
  if (!samples.empty())
    effect =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  if (samples.size() < least_resamples) samples.clear();
  claim.effect = percentile_estimate(effect, std::move(samples));
  claim.verdict = verdict_of(claim.effect, Side::above, 0);
  const auto has_value = [&](std::size_t kind) { return !counted[kind].empty(); };
  const std::string means = joined(numbers_where(n_kind, has_value), ", ", [&](std::size_t kind) {
    return decimals(mean_of_numbers(counted[kind]), 2) + " by " + kinds[kind];
  });
  claim.evidence = "The mean correlation over tasks is " + means + "; the largest, " +
                   decimals(largest, 2) + ", is that on " + largest_on +
                   ". Heads are permuted at random within their layers, in the same way for all "
                   "tasks and for queries, keys and values. So differences between layers and "
                   "heads shared by edges do not count.";
  group.claims.push_back(std::move(claim));
}

}  // namespace headscope
