#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "report_text.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// `agreement (margin 3.2 nats, interval 2.9 to 3.5)`; without the margin where it shows nothing.
std::string task_text(const ResultsGroup& group, std::size_t task) {
  const std::string name = task_name(group, task);
  if (group.values("has_margin")(task) == 0) return name;
  return name + " (margin " + margin_text(group.variable("margin").estimate(task)) + ")";
}

std::string what_tasks_need(const ResultsGroup& group) {
  return "A task needs a head if the task loses at least " + percent(group.scalar("needed_from")) +
         " of its margin without the head, by zero and by mean ablation (q < 0.05 each). In "
         "brackets: the share lost by zero and by mean ablation; the smaller share ranks the "
         "heads.";
}

std::string what_self_repair() {
  return "Heads that later parts of the model make up for, those of the last layer left out: the "
         "intervals of direct effect and self-repair lie above 0, and both are at least " +
         percent(least_repair_share) +
         " of the task's margin. Self-repair above the direct effect means that the good token "
         "gains when the head is removed. After the semicolon, for the heads of most self-repair: "
         "later heads whose direct effect grows most without the head (q < 0.05).";
}

/// Heads with repair by `self_repair`, largest first, without those of the last layer.
std::vector<Index> heads_with_repair(const ResultsGroup& group, std::size_t task) {
  if (group.values("has_margin")(task) == 0) return {};
  const Array repair = group.values("self_repair").part(task);
  std::vector<Index> heads = numbers_where<Index>(repair.size() - repair.shape[1], [&](Index unit) {
    return is_made_up_for(group, task, unit);
  });
  std::ranges::stable_sort(heads, std::greater(), [&](Index unit) { return repair.values[unit]; });
  return heads;
}

/// `agreement: L3H1 (direct effect 1.2 logits, self-repair 0.8; L4H2 +0.4, L4H0 +0.2).`, for each
/// task of which some head is made up for.
std::vector<std::string> repair_lines(const ResultsGroup& group) {
  constexpr std::size_t most_heads = 2, most_backups = 3, most_lines = 8;
  const std::size_t n_head = group.dimension("head").size();
  std::vector<std::string> lines;
  for (std::size_t task = 0; task < group.dimension("task").size(); ++task) {
    const std::vector<Index> heads = heads_with_repair(group, task);
    if (heads.empty() || lines.size() == most_lines) continue;
    const Array direct = group.values("direct_effect").part(task),
                repair = group.values("self_repair").part(task),
                change = group.values("backup_change").part(task);
    const auto of_head = [&](Index unit) {
      const auto backup = [&](Index head_index) {
        return head_text(head_index, n_head) + " +" + number_text(change(unit, head_index), 2);
      };
      const std::vector<Index> backups = backup_heads(group, task, unit);
      return head_text(unit, n_head) + " (direct effect " + number_text(direct.values[unit], 2) +
             " logits, self-repair " + number_text(repair.values[unit], 2) + "; " +
             (backups.empty() ? "no later head's direct effect is shown to grow"
                              : first_joined(backups, most_backups, backup)) +
             ")";
    };
    lines.push_back(task_name(group, task) + ": " + first_joined(heads, most_heads, of_head) + ".");
  }
  return lines;
}

std::vector<std::string> task_lines(const ResultsGroup& group) {
  return first_task_lines(group, "share_lost", [&](std::size_t task) {
    return task_text(group, task) + ": " + needed_text(group, task) + ".";
  });
}

std::string with_interval(const Estimate& margin) {
  const std::string value = nats_text(margin.value);
  if (!margin.has_interval()) return value;
  return value + " [" + nats_text(margin.low) + ", " + nats_text(margin.high) + "]";
}

TaskTable task_table(const ResultsGroup& group) {
  TaskTable table{{"accuracy", "margin, nats", "heads that it needs (share of the margin lost)"},
                  {}};
  for (std::size_t task = 0; task < group.dimension("task").size(); ++task) {
    const double accuracy = group.values("accuracy")(task);
    const Estimate margin = group.variable("margin").estimate(task);
    table.rows.push_back(
        {task_name(group, task),
         {std::isnan(accuracy) ? "–" : percent(accuracy),
          std::isnan(accuracy) ? "–" : with_interval(margin), needed_text(group, task)}});
  }
  return table;
}

/// How many tasks the model is shown to do, and the heads that the largest number of tasks need.
std::string tasks_found(const ResultsGroup& group) {
  const std::size_t n_task = group.dimension("task").size();
  std::map<Index, std::size_t> n_task_of_head;
  std::size_t n_shown = 0;
  for (std::size_t task = 0; task < n_task; ++task) {
    if (group.values("has_margin")(task) == 0) continue;
    ++n_shown;
    for (const Index head_index : needed_heads(group, task)) ++n_task_of_head[head_index];
  }
  const std::string text =
      "The model is shown to do " + std::to_string(n_shown) + " of " + count_text(n_task, "task");
  if (n_task_of_head.empty()) return text + ".";
  constexpr std::size_t most_named = 3;
  const std::size_t most = std::ranges::max_element(n_task_of_head, {}, [](const auto& count) {
                             return count.second;
                           })->second;
  std::vector<Index> heads;
  for (const auto& [head_index, count] : n_task_of_head) {
    if (count == most) heads.push_back(head_index);
  }
  const std::size_t n_head = group.dimension("head").size();
  return text + "; " +
         first_joined(heads, most_named,
                      [&](Index head_index) { return head_text(head_index, n_head); }) +
         (heads.size() == 1 ? " is needed by " : " are each needed by ") +
         count_text(most, "task") + ", more than any other head.";
}

}  // namespace

bool is_made_up_for(const ResultsGroup& group, std::size_t task, Index unit) {
  const double least = least_repair_share * std::abs(group.values("margin")(task));
  return std::ranges::all_of(std::array{"direct_effect", "self_repair"}, [&](const char* name) {
    const Variable& variable = group.variable(name);
    const std::size_t n_head_total = variable.values.size() / variable.values.shape[0];
    const Estimate estimate = variable.estimate(task * n_head_total + unit);
    return estimate.is_above(0) && estimate.value >= least;
  });
}

std::string needed_text(const ResultsGroup& group, std::size_t task) {
  const double n_pair = group.values("n_pair")(task);
  if (n_pair == 0) return "no pair";
  if (!group.variable("accuracy").estimate(task).has_interval())
    return no_interval_text(n_pair, "pairs");
  if (group.values("has_margin")(task) == 0) {
    return "the model is not shown to do this task with " +
           count_text(static_cast<std::size_t>(n_pair), "pair");
  }
  constexpr std::size_t most = 3;
  const std::vector<Index> head_indices = needed_heads(group, task);
  if (head_indices.empty()) return "none";
  const Array &share = group.values("share_lost"), zero = share.part(0).part(task),
              mean = share.part(1).part(task);
  return first_joined(head_indices, most, [&](Index head_index) {
    return head_text(head_index, zero.shape[1]) + " (" + percent(zero.values[head_index]) + ", " +
           percent(mean.values[head_index]) + ")";
  });
}

std::string tasks_summary(const ResultsGroup& group) {
  const Array &accuracy = group.values("accuracy"), &n_pair = group.values("n_pair");
  const auto preference = [&](std::size_t task) {
    const std::string name = task_name(group, task);
    if (n_pair(task) == 0) return "no pair of " + name;
    return percent(accuracy(task)) + " of " +
           count_text(static_cast<std::size_t>(n_pair(task)), "pair") + " of " + name;
  };
  std::string text = "The model prefers the better side in " +
                     joined(std::views::iota(std::size_t{0}, n_pair.size()), "; in ", preference) +
                     ".";
  for (const auto& [variable, why] :
       {std::pair{"n_same", "whose sides have the same tokens"},
        {"n_too_long", "longer than the context"},
        {"n_unpredicted", "whose sides differ at their first token, which nothing precedes"}}) {
    const std::vector<double>& counts = group.values(variable).values;
    const auto n = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0.0));
    if (n > 0) text += " Left out: " + count_text(n, "pair") + " " + why + ".";
  }
  text += "\n" + what_tasks_need(group) + "\n" + joined(task_lines(group), "\n");
  const std::vector<std::string> repairs = repair_lines(group);
  if (repairs.empty()) return text;
  return text + "\n" + what_self_repair() + "\n" + joined(repairs, "\n");
}

Presentation tasks_presentation() {
  return {.group = "tasks",
          .describe =
              [](const Results& results) {
                Description description;
                const ResultsGroup& group = results.group("tasks");
                description.found = tasks_found(group);
                description.tasks = task_table(group);
                description.add("Tasks", what_tasks_need(group), task_lines(group));
                std::vector<std::string> repairs = repair_lines(group);
                if (!repairs.empty()) {
                  description.add("Self-repair", what_self_repair(), std::move(repairs));
                }
                return description;
              },
          .scores = {{"Direct effect and self-repair on tasks", {"direct_effect", "self_repair"}}},
          .nearest = {{.title = "Direct effects that change without it (logits)",
                       .variable = "backup_change",
                       .chance = {}}},
          .tables = {{"Tasks that need it",
                      {"task", "margin lost (smaller of zero and mean)", "needed from", "pairs"},
                      "share_lost_least",
                      "needed_from",
                      "n_pair",
                      "has_margin"}},
          .measures = {{"task_accuracy", "accuracy", ""}},
          .auxiliary = {"margin_change_p", "margin_change_q"},
          .variables = &task_variables};
}

}  // namespace headscope
