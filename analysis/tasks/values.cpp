#include <algorithm>
#include <cmath>

#include "tasks/results.hpp"

namespace headscope {
namespace {

std::vector<double> divided(const Array& sums, double count) {
  return sums.mapped([count](double sum) { return sum / count; }).values;
}

/// Direct effect and self-repair of every head, and which heads later ones may make up for.
void add_repair(const Statistics& statistics, const TaskSums& names, const ModelConfig& config,
                const AnalysisSettings& settings, TaskValues& values) {
  const Array n_pair = statistics.total(names.n_direct_effect),
              direct = statistics.total(names.direct_effect);
  Array repair = statistics.total(names.difference_change);
  for (std::size_t i = 0; i < repair.size(); ++i) repair.values[i] += direct.values[i];
  values.n_pair_direct = 0;
  for (const double n : n_pair.values) values.n_pair_direct += n;
  if (values.n_pair_direct == 0) return;
  values.direct_effect = means_of_pairs(n_pair, direct, settings);
  values.self_repair = means_of_pairs(n_pair, repair, settings);
  if (!values.means.can_do()) return;
  for (Index unit = 0; unit < (config.n_layer - 1) * config.n_head; ++unit) {
    if (values.direct_effect[unit].is_above(0) && values.self_repair[unit].is_above(0)) {
      values.repaired.push_back(unit);
    }
  }
  std::ranges::stable_sort(values.repaired, std::greater(),
                           [&](Index unit) { return values.self_repair[unit].value; });
  values.repaired.resize(std::min(values.repaired.size(), most_repaired));
  std::ranges::sort(values.repaired);
}

/// What later heads write more without each head that is made up for.
void add_backups(const Statistics& statistics, const TaskSums& names, const ModelConfig& config,
                 const AnalysisSettings& settings, TaskValues& values) {
  if (!statistics.has(names.backup_change)) return;
  const Array n_pair = statistics.total(names.n_direct_effect),
              squared = statistics.total(names.squared_backup);
  values.backup = means_of_pairs(n_pair, statistics.total(names.backup_change), settings);
  const std::size_t n_head_total = values.direct_effect.size();
  std::vector<double> p(values.backup.size(), std::nan(""));
  for (std::size_t i = 0; i < values.backup.size(); ++i) {
    const HeadIndex head = HeadIndex::of(i % n_head_total, config.n_head),
                    ablated = HeadIndex::of(values.repaired[i / n_head_total], config.n_head);
    if (head.layer <= ablated.layer) {
      values.backup[i] = {};
    } else if (!std::ranges::binary_search(config.pruned_heads, head)) {
      p[i] = effect_p(values.n_pair_direct, values.backup[i].value * values.n_pair_direct,
                      squared.values[i], values.means.margin.value);
    }
  }
  values.backup_q = benjamini_hochberg(p);
}

}  // namespace

std::vector<Index> repaired_heads(const Statistics& statistics, std::size_t task,
                                  const ModelConfig& config, const AnalysisSettings& settings) {
  const TaskSums names(task);
  if (!statistics.has(names.n_pair)) return {};
  TaskValues values;
  values.means = task_means(statistics, task, settings);
  values.direct_effect.resize(config.n_layer * config.n_head);
  add_repair(statistics, names, config, settings, values);
  return values.repaired;
}

TaskValues task_values(const Statistics& statistics, std::size_t task, const ModelConfig& config,
                       const AnalysisSettings& settings) {
  const std::size_t n_head_total = config.n_layer * config.n_head,
                    n_effect = n_task_ablation * n_head_total;
  const TaskSums names(task);
  TaskValues values;
  values.change.resize(n_effect);
  for (auto* values_by_head : {&values.p, &values.correct_change})
    values_by_head->assign(n_effect, std::nan(""));
  values.first_order.assign(n_head_total, std::nan(""));
  for (auto* values_by_head : {&values.direct_effect, &values.self_repair}) {
    values_by_head->resize(n_head_total);
  }
  if (!statistics.has(names.n_pair)) return values;

  const Array n_pair = statistics.total(names.n_pair),
              change = statistics.total(names.margin_change);
  values.means = task_means(statistics, task, settings);
  values.change = means_of_pairs(n_pair, change, settings);
  const double n = values.means.n_pair;
  const Array squared = statistics.total(names.squared_change);
  for (const Index head_index : config.heads_left()) {
    for (std::size_t i = head_index; i < n_effect; i += n_head_total) {
      values.p[i] =
          effect_p(n, values.change[i].value * n, squared.values[i], values.means.margin.value);
    }
  }
  values.correct_change = divided(statistics.total(names.correct_change), n);
  values.first_order = divided(statistics.total(names.first_order), n);
  add_repair(statistics, names, config, settings, values);
  add_backups(statistics, names, config, settings, values);
  return values;
}

}  // namespace headscope
