#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "significance.hpp"
#include "task_margins.hpp"

namespace headscope {

extern const VariableTable task_variables;

inline constexpr std::size_t n_task_ablation = 2;  ///< zero, mean
/// Heads of a task whose backup heads are looked for, at most: those with the most self-repair.
inline constexpr std::size_t most_repaired = 10;

/// Names of the sums of a task, by its number.
struct TaskSums : MarginSums {
  using MarginSums::MarginSums;

  // Of the first pass.
  std::string z = name("z");  ///< layer x d_z, over the tokens of both sides after position 0
  std::string n_token = name("n_token");  ///< 1, tokens of z
  // Of the second pass, as those of MarginSums.
  std::string margin_change = name("margin_change");  ///< block x ablation x layer x head, nats
  // Over all pairs.
  std::string squared_change =
      name("squared_change");  ///< ablation x layer x head, of the pairs' margin changes
  std::string correct_change =
      name("correct_change");  ///< ablation x layer x head, change of pairs with margin > 0
  std::string first_order = name("first_order");  ///< layer x head, nats
  // Over the pairs with a direct effect.
  std::string n_direct_effect = name("n_direct_effect");  ///< block, pairs
  std::string direct_effect = name("direct_effect");      ///< block x layer x head, logits
  std::string difference_change =
      name("difference_change");  ///< block x layer x head, of the same logits by zero ablation
  // Of the third pass, over the same pairs; repaired: place in repaired_heads.
  std::string backup_change = name("backup_change");    ///< block x repaired x head_index, logits
  std::string squared_backup = name("squared_backup");  ///< repaired x head_index
};

/// The heads of a task whose ablation later heads make up for, by unit = layer * n_head + head: the
/// intervals of their direct effect and self-repair lie above 0; those with the most self-repair,
/// at most `most_repaired`, none of the last layer, in the order of units. None if the model is not
/// shown to do the task. The same for all shards.
/// @param statistics  of the first two passes.
std::vector<Index> repaired_heads(const Statistics& statistics, std::size_t task,
                                  const ModelConfig& config, const AnalysisSettings& settings);

/// Group `tasks` from the summed statistics.
ResultsGroup tasks_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const ModelConfig& config, const AnalysisSettings& settings);

Presentation tasks_presentation();
/// Lines for the group's section.
std::string tasks_summary(const ResultsGroup& group);

/// The heads a task needs, by `share_lost_least`, greatest first.
std::vector<Index> needed_heads(const ResultsGroup& group, std::size_t task);

/// `L2H6 (62 %, 40 %), L3H1 (20 %, 12 %) and 3 more`, shares lost by zero and by mean ablation;
/// `none`; or why nothing can be said.
std::string needed_text(const ResultsGroup& group, std::size_t task);

/// The heads whose direct effect grows (q < 0.05) if `unit` is ablated, largest growth first.
/// @param unit  layer * n_head + head.
std::vector<Index> backup_heads(const ResultsGroup& group, std::size_t task, Index unit);

/// Least direct effect and self-repair of a head that later parts are said to make up for, as a
/// share of the task's margin.
inline constexpr double least_repair_share = 0.01;

/// Whether later parts of the model are said to make up for a head on a task: the intervals of
/// direct_effect and self_repair lie above 0, and both are at least least_repair_share of the
/// task's margin.
/// @param unit  layer * n_head + head.
bool is_made_up_for(const ResultsGroup& group, std::size_t task, Index unit);

/// Claim 11: a task about a relation needs the heads that attend along this relation. Takes the
/// relations from the group `classification`; nothing if no task has a relation.
std::optional<Claim> relation_heads_claim(const ResultsGroup& group, const Results& all,
                                          const AnalysisSettings& settings);

std::vector<Figure> tasks_figures(const Results& results);

/// One task's values; heads are ablation x layer x head or layer x head.
struct TaskValues {
  TaskMeans means;
  double n_pair_direct = 0;
  std::vector<Estimate> change;  ///< of the margin
  std::vector<double> p;         ///< of change; NaN of removed heads
  std::vector<double> correct_change, first_order;
  std::vector<Estimate> direct_effect, self_repair;
  std::vector<Index> repaired;   ///< units
  std::vector<Estimate> backup;  ///< repaired x unit; no value of earlier and the same layer
  std::vector<double> backup_q;  ///< the same; NaN of removed heads
};

/// A task's values from the summed statistics; without pairs they are NaN.
TaskValues task_values(const Statistics& statistics, std::size_t task, const ModelConfig& config,
                       const AnalysisSettings& settings);

}  // namespace headscope
