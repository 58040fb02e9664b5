#include <algorithm>
#include <cmath>
#include <map>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/head_types.hpp"
#include "random_draws.hpp"
#include "report_text.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// A task that the model is shown to do, the heads that attend along its relation, and the margin
/// that the task loses without each head.
struct TaskOfRelation {
  std::string task, relation;
  std::vector<bool> attends_along_relation;  ///< by head
  std::vector<double> margin_lost;  ///< nats, by head: minus margin_change by zero ablation
};

/// Heads that pass the rule for syntactic heads on the relation in either direction.
std::vector<bool> heads_along_relation(const ResultsGroup& classification, std::size_t relation) {
  const Array passed = classification.values("relation_passed").part(relation);
  const std::size_t n_head_total = passed.size() / passed.shape[0];
  std::vector<bool> looks(n_head_total, false);
  for (std::size_t i = 0; i < passed.size(); ++i) {
    if (passed.values[i] == 1) looks[i % n_head_total] = true;
  }
  return looks;
}

std::vector<TaskOfRelation> tasks_of_relations(const ResultsGroup& group, const Results& all) {
  std::vector<TaskOfRelation> found;
  if (!all.has("classification")) return found;
  const ResultsGroup& classification = all.group("classification");
  if (!classification.has("relation_passed")) return found;
  const std::vector<std::string>& tasks = group.labels("task");
  const Array zero = group.values("margin_change").part(0);
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const std::string& name = group.texts("relation")[task];
    const std::optional<std::size_t> relation = classification.dimension("relation").place_of(name);
    if (!relation || group.values("has_margin")(task) == 0) continue;
    found.push_back({tasks[task], name, heads_along_relation(classification, *relation),
                     zero.part(task).mapped(std::negate()).values});
  }
  return found;
}

/// By layer, the heads that the run's model has not lost.
using LayerHeads = std::vector<std::vector<Index>>;

LayerHeads heads_of_layers(const ResultsGroup& group, const Results& all) {
  const HeadShape shape{group.dimension("layer").size(), group.dimension("head").size()};
  const std::vector<bool> is_removed = removed_heads(all, shape);
  LayerHeads layers(shape.n_layer);
  for (Index head_index = 0; head_index < shape.n_head_total(); ++head_index) {
    if (!is_removed[head_index]) layers[head_index / shape.n_head].push_back(head_index);
  }
  return layers;
}

/// The margin that a task loses without a marked head, less the mean of what it loses without each
/// unmarked head of the layer; mean over marked heads and tasks. Layers whose heads are all marked,
/// or none, are left out. NaN without any.
double mean_difference(const std::vector<TaskOfRelation>& tasks, const LayerHeads& layers) {
  double sum = 0, n = 0;
  for (const TaskOfRelation& task : tasks) {
    for (const std::vector<Index>& heads : layers) {
      double marked = 0, unmarked = 0, n_marked = 0;
      for (const Index head_index : heads) {
        (task.attends_along_relation[head_index] ? marked : unmarked) +=
            task.margin_lost[head_index];
        n_marked += task.attends_along_relation[head_index] ? 1 : 0;
      }
      const double n_other = static_cast<double>(heads.size()) - n_marked;
      if (n_marked == 0 || n_other == 0) continue;
      sum += marked - n_marked * unmarked / n_other;
      n += n_marked;
    }
  }
  return n > 0 ? sum / n : std::numeric_limits<double>::quiet_NaN();
}

/// Copies of the tasks in which as many heads of each layer are marked, at random. Tasks of one
/// relation get the same marks, as its heads are the same.
std::vector<TaskOfRelation> permuted(std::vector<TaskOfRelation> tasks, const LayerHeads& layers,
                                     const CounterRandom& random) {
  std::uint64_t draw = 0;
  std::map<std::string, std::vector<bool>> of_relation;
  for (TaskOfRelation& task : tasks) {
    const auto [known, is_new] = of_relation.try_emplace(task.relation);
    if (!is_new) {
      task.attends_along_relation = known->second;
      continue;
    }
    std::vector<bool>& marked = task.attends_along_relation;
    for (const std::vector<Index>& heads : layers) {
      const auto n_marked = static_cast<Index>(
          std::ranges::count_if(heads, [&](Index head_index) { return marked[head_index]; }));
      for (const Index head_index : heads) marked[head_index] = false;
      for (const Index place :
           random_subset(heads.size(), n_marked, CounterRandom(random.value(draw)))) {
        marked[heads[place]] = true;
      }
      ++draw;
    }
    known->second = marked;
  }
  return tasks;
}

}  // namespace

std::optional<Claim> relation_heads_claim(const ResultsGroup& group, const Results& all,
                                          const AnalysisSettings& settings) {
  const std::vector<std::string>& relations = group.texts("relation");
  if (std::ranges::all_of(relations, &std::string::empty)) return std::nullopt;
  Claim claim;
  claim.number = 11;
  claim.source = "Clark et al. 2019; Voita et al. 2019";
  claim.statement =
      "Heads that look along a relation are those that a task about the relation needs.";
  claim.effect_name =
      "margin lost without a head that attends along the task's relation minus margin lost without "
      "another head of its layer, nats per pair";
  const std::vector<TaskOfRelation> tasks = tasks_of_relations(group, all);
  if (tasks.empty()) {
    claim.evidence =
        "Cannot be told: the classification of this run has no relation of a task that the model "
        "is shown to do.";
    return claim;
  }
  const LayerHeads layers = heads_of_layers(group, all);
  const double effect = mean_difference(tasks, layers);
  if (std::isnan(effect)) {
    claim.evidence =
        "Cannot be told: no layer has heads that attend along a relation of the tasks and heads "
        "that do not.";
    return claim;
  }
  // The interval is that of the effect minus what chance gives it.
  std::vector<double> samples;
  std::size_t n_as_large = 0;
  const CounterRandom random(settings.seed);
  for (std::uint64_t i = 0; i < settings.n_bootstrap; ++i) {
    const double chance =
        mean_difference(permuted(tasks, layers, CounterRandom(random.value(i))), layers);
    n_as_large += chance >= effect ? 1 : 0;
    samples.push_back(effect - chance);
  }
  if (samples.size() < least_resamples) samples.clear();
  claim.effect = percentile_estimate(effect, std::move(samples));
  claim.verdict = verdict_of(claim.effect, Side::above, 0);
  const auto looking = [&, n_head = group.dimension("head").size()](const TaskOfRelation& task) {
    const std::vector<bool>& attends = task.attends_along_relation;
    const std::vector<Index> heads =
        numbers_where<Index>(attends.size(), [&](Index head_index) { return attends[head_index]; });
    return spaced(task.task) + ": " + (heads.empty() ? "none" : head_list(heads, n_head));
  };
  claim.evidence =
      "Heads that attend along the task's relation: " + joined(tasks, "; ", looking) + ". ";
  claim.evidence +=
      claim.effect.has_interval()
          ? "In a permutation as many heads of each layer are marked at random, the same heads in "
            "all tasks of a relation. The difference is as large in " +
                percent(static_cast<double>(n_as_large) /
                        static_cast<double>(settings.n_bootstrap)) +
                " of " + count_text(settings.n_bootstrap, "permutation") +
                ". The interval is that of the effect minus the differences of the permutations."
          : "There is no interval to settle the claim.";
  return claim;
}

}  // namespace headscope
