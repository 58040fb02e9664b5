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

/// `L2H6 (62 %), L3H1 (20 %) and 3 more`; `none`; that the model is not shown to do the task.
std::string needed_text(const ResultsGroup& group, std::size_t task) {
  const double n_pair = group.values("n_pair")(task);
  if (n_pair == 0) return "no pair";
  if (!group.variable("accuracy").estimate(task).has_interval()) return "too few pairs to tell";
  if (group.values("has_margin")(task) == 0) {
    return "the model is not shown to do this task with " +
           count_text(static_cast<std::size_t>(n_pair), "pair");
  }
  constexpr std::size_t most = 3;
  const std::vector<Index> head_indices = needed_heads(group, task);
  if (head_indices.empty()) return "none";
  const Array share = group.values("share_lost").part(task);
  return first_joined(head_indices, most, [&](Index head_index) {
    return head_text(head_index, share.shape[1]) + " (" + percent(share.values[head_index]) + ")";
  });
}

std::string what_tasks_need(const ResultsGroup& group) {
  return "Heads whose removal loses at least " + percent(group.scalar("needed_from")) +
         " of a task's margin (by zero and by mean ablation, q < 0.05 each), and how much of it.";
}

/// A line for each of the first tasks.
std::vector<std::string> task_lines(const ResultsGroup& group) {
  return first_task_lines(group, "share_lost", [&](std::size_t task) {
    return task_text(group, task) + ": " + needed_text(group, task) + ".";
  });
}

double total(const ResultsGroup& group, const char* variable) {
  double sum = 0;
  for (const double value : group.values(variable).values) sum += value;
  return sum;
}

}  // namespace

std::string tasks_summary(const ResultsGroup& group) {
  const Array &accuracy = group.values("accuracy"), &n_pair = group.values("n_pair");
  const auto preference = [&](std::size_t task) {
    const std::string name = task_name(group, task);
    if (n_pair(task) == 0) return "no pair of " + name;
    return percent(accuracy(task)) + " of " +
           count_text(static_cast<std::size_t>(n_pair(task)), "pair") + " of " + name;
  };
  std::string text = "The model prefers the better side of " +
                     joined(std::views::iota(std::size_t{0}, n_pair.size()), "; of ", preference) +
                     ".";
  const double n_same = total(group, "n_same"), n_too_long = total(group, "n_too_long");
  if (n_same > 0) {
    text += " Left out: " + count_text(static_cast<std::size_t>(n_same), "pair") +
            " whose sides have the same tokens.";
  }
  if (n_too_long > 0) {
    text += " Left out: " + count_text(static_cast<std::size_t>(n_too_long), "pair") +
            " longer than the context.";
  }
  return text + "\n" + what_tasks_need(group) + "\n" + joined(task_lines(group), "\n");
}

Presentation tasks_presentation() {
  return {.group = "tasks",
          .describe =
              [](const Results& results) {
                Description description;
                const ResultsGroup& group = results.group("tasks");
                description.add("Tasks", what_tasks_need(group), task_lines(group));
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
