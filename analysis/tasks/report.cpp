#include <cmath>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "report_text.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

/// `agreement (margin 3.2 nats, interval 2.9 to 3.5)`; without the margin where it shows nothing.
std::string task_text(const ResultsGroup& group, std::size_t task) {
  const std::string name = spaced(group.dimensions.at("task").text[task]);
  if (group.variable("has_margin").values(task) == 0) return name;
  return name + " (margin " + margin_text(group.variable("margin").estimate(task)) + ")";
}

/// `L2H6 (62 %), L3H1 (20 %) and 3 more`; `none`; that the model is not shown to do the task.
std::string needed_text(const ResultsGroup& group, std::size_t task) {
  const double n_pair = group.variable("n_pair").values(task);
  if (n_pair == 0) return "no pair";
  if (!group.variable("accuracy").estimate(task).has_interval()) return "too few pairs to tell";
  if (group.variable("has_margin").values(task) == 0) {
    return "the model is not shown to do this task with " +
           count_text(static_cast<std::size_t>(n_pair), "pair");
  }
  constexpr std::size_t most = 3;
  const Array share = group.variable("share_lost").values.part(task);
  const std::vector<Index> head_indices = needed_heads(group, task);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, head_indices.size()); ++i) {
    text += (text.empty() ? "" : ", ") + head_text(head_indices[i], share.shape[1]) + " (" +
            percent(share.values[head_indices[i]]) + ")";
  }
  if (head_indices.size() > most)
    text += " and " + std::to_string(head_indices.size() - most) + " more";
  return text.empty() ? "none" : text;
}

std::string needs_line(const ResultsGroup& group) {
  constexpr std::size_t most = 8;
  const std::vector<std::string>& tasks = group.dimensions.at("task").text;
  std::string text = "Heads whose removal loses at least " +
                     percent(group.variable("needed_from").values(0)) +
                     " of a task's margin (by zero and by mean ablation, q < 0.05 each): ";
  for (std::size_t task = 0; task < std::min(most, tasks.size()); ++task) {
    text += (task == 0 ? "" : "; ") + task_text(group, task) + ": " + needed_text(group, task);
  }
  if (tasks.size() > most) {
    text += "; the table share_lost has " + count_text(tasks.size() - most, "more task");
  }
  return text + ".";
}

double total(const ResultsGroup& group, const char* variable) {
  double sum = 0;
  for (const double value : group.variable(variable).values.values) sum += value;
  return sum;
}

}  // namespace

std::string tasks_summary(const ResultsGroup& group) {
  const std::vector<std::string>& tasks = group.dimensions.at("task").text;
  const Array &accuracy = group.variable("accuracy").values,
              &n_pair = group.variable("n_pair").values;
  std::string text;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    text += (task == 0 ? "The model prefers the better side of " : "; of ") +
            (n_pair(task) == 0 ? "no pair of " + spaced(tasks[task])
                               : percent(accuracy(task)) + " of " +
                                     count_text(static_cast<std::size_t>(n_pair(task)), "pair") +
                                     " of " + spaced(tasks[task]));
  }
  text += ". " + needs_line(group);
  const double n_same = total(group, "n_same"), n_too_long = total(group, "n_too_long");
  if (n_same > 0) {
    text += " Left out: " + count_text(static_cast<std::size_t>(n_same), "pair") +
            " whose sides have the same tokens.";
  }
  if (n_too_long > 0) {
    text += " Left out: " + count_text(static_cast<std::size_t>(n_too_long), "pair") +
            " longer than the context.";
  }
  return text;
}

Presentation tasks_presentation() {
  return {.group = "tasks",
          .describe =
              [](const Results& results) {
                Description description;
                description.add("Tasks", needs_line(results.group("tasks")));
                return description;
              },
          .tables = {{"Tasks that need it",
                      {"task", "margin lost", "needed from", "pairs"},
                      "share_lost",
                      "needed_from",
                      "n_pair",
                      "has_margin"}},
          .measures = {{"task_accuracy", "accuracy", ""}}};
}

}  // namespace headscope
