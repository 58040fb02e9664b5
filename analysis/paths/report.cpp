#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "paths/circuit_size.hpp"
#include "paths/results.hpp"
#include "paths/sums.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

double n_all_edges(const ResultsGroup& group) {
  return group.dimension("step").values.back();
}

/// `310 (interval 250 to 402)`; with ", not sparse" above a fifth of all edges.
std::string circuit_text(const ResultsGroup& group, std::size_t task) {
  const Estimate fewest = group.variable("circuit_edges_90").estimate(task);
  return number_text(fewest.value, 0) + " (interval " + number_text(fewest.low, 0) + " to " +
         number_text(fewest.high, 0) +
         (fewest.value > sparse_share * n_all_edges(group) ? ", not sparse)" : ")");
}

/// `88 % (interval 80 % to 96 %)`, `88 % (too few pairs for an interval)`.
std::string share_text(const Estimate& share) {
  return percent(share.value) + (share.has_interval() ? " (interval " + percent(share.low) +
                                                            " to " + percent(share.high) + ")"
                                                      : " (too few pairs for an interval)");
}

/// `55 edges keep 92 % (interval 85 % to 97 %)`
std::string pruned_text(const ResultsGroup& group, std::size_t task) {
  return number_text(group.values("circuit_edges_pruned")(task), 0) + " edges keep " +
         share_text(group.variable("faithfulness_pruned").estimate(task));
}

/// `310 (interval 250 to 402) of 3046 edges keep 90 % of what all edges add to the margin (3.2
/// nats, interval 2.9 to 3.5)`, or how the margin depends on the edges where they do not raise it,
/// or that this cannot be told.
std::string circuit_sentence(const ResultsGroup& group, std::size_t task) {
  const Estimate margin = group.variable("margin").estimate(task),
                 of_edges = group.variable("edge_margin").estimate(task);
  if (!of_edges.has_interval()) {
    return "too few pairs are run exactly (--paths-pairs) to tell how many edges keep the margin "
           "(" +
           margin_text(margin) + ")";
  }
  if (std::isnan(group.values("circuit_edges_90")(task))) {
    return "the margin (" + margin_text(margin) +
           (of_edges.is_below(0) ? ") is lower with the edges than without them"
                                 : ") is not shown to depend on the edges") +
           ": all edges together add " + margin_text(of_edges);
  }
  return "about " + circuit_text(group, task) + " of " + number_text(n_all_edges(group), 0) +
         " edges keep 90 % of what all edges add to the margin (" + margin_text(of_edges) +
         "); after pruning, " + pruned_text(group, task) + " on pairs that pruning has not seen";
}

/// `; the first 512 edges in the order of --paths-ordering keep 83 % (interval 70 % to 91 %), in
/// the order of integrated gradients 91 % (interval 86 % to 95 %)`, at the first step of at least
/// circuit_edges_90 edges; empty without such an order or number.
std::string given_text(const ResultsGroup& group, std::size_t task) {
  const double fewest = group.values("circuit_edges_90")(task);
  if (!group.has("faithfulness_given") || std::isnan(fewest)) return "";
  const std::vector<double>& steps = group.dimension("step").values;
  const auto step =
      static_cast<std::size_t>(std::ranges::lower_bound(steps, fewest) - steps.begin());
  if (step == steps.size()) return "";
  const Estimate given = group.variable("faithfulness_given").estimate(task * steps.size() + step);
  if (std::isnan(given.value)) return "";
  const std::size_t integrated = task * group.dimension("order").size() * steps.size() + step;
  return "; the first " + number_text(steps[step], 0) +
         " edges in the order of --paths-ordering keep " + share_text(given) +
         ", in the order of integrated gradients " +
         share_text(group.variable("faithfulness").estimate(integrated));
}

/// `recurring name: 310 (interval 250 to 402) of 3046 edges keep 90 % of what all edges add to the
/// margin (3.2 nats, interval 2.9 to 3.5); 41 of 50 edges ablated exactly change the margin by at
/// least 1 % (q < 0.05); strongest of them between heads: L0H4 → L3H3 by keys (without it -0.85
/// nats, interval -1.1 to -0.6).`
std::string task_line(const ResultsGroup& group, std::size_t task) {
  const std::string name = task_name(group, task);
  const double n_pair = group.values("n_pair")(task);
  if (n_pair == 0) return name + ": no pairs.";
  if (!group.variable("accuracy").estimate(task).has_interval()) {
    return name + ": " + no_interval_text(n_pair, "pairs") + ".";
  }
  if (group.values("can_do")(task) == 0) {
    return name + ": the model is not shown to do it with " +
           count_text(static_cast<std::size_t>(n_pair), "pair") + ".";
  }
  const std::string strongest = strongest_between_heads(group, task);
  const std::size_t n_edge = group.dimension("edge").size();
  const std::vector<std::string>& nodes = group.texts("edge_node");
  const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(task * n_edge);
  const std::size_t n_ablated =
      n_edge -
      static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(n_edge), ""));
  const std::string text = name + ": " + circuit_sentence(group, task) + given_text(group, task);
  if (n_edge == 0) return text + "; no edge was ablated alone (--paths-exact).";
  if (n_ablated == 0) return text + "; no single edge has an effect with q < 0.05.";
  return text + "; " + std::to_string(circuit_of(group, task).size()) + " of " +
         count_text(n_ablated, "edge") + " ablated exactly change the margin by at least " +
         percent(least_circuit_share) + " (q < 0.05)" +
         (strongest.empty() ? "" : "; strongest of them between heads: " + strongest) + ".";
}

constexpr const char* what_tasks_need =
    "For each task: how many edges, largest integrated effect first, keep 90 % of the margin "
    "(interpolated between the numbers that were tried), and which single edges change the margin. "
    "A circuit with more than a fifth of all edges in this "
    "order is called not sparse; pruning may find fewer.";

TaskTable circuit_table(const ResultsGroup& group) {
  TaskTable table{
      {"edges for 90 % of the margin (interpolated), largest integrated effect first",
       "after pruning", "strongest tested edge between heads: change of the margin without it"},
      {}};
  for (std::size_t task = 0; task < group.dimension("task").size(); ++task) {
    const bool has_circuit = !std::isnan(group.values("circuit_edges_90")(task)),
               is_done = group.values("can_do")(task) == 1,
               has_interval = group.variable("edge_margin").estimate(task).has_interval();
    const std::string strongest = is_done ? strongest_between_heads(group, task) : "";
    table.rows.push_back(
        {task_name(group, task),
         {has_circuit    ? circuit_text(group, task)
          : !is_done     ? "not shown to do the task"
          : has_interval ? "edges not shown to raise the margin"
                         : "too few pairs to tell",
          has_circuit ? pruned_text(group, task) : "–", strongest.empty() ? "–" : strongest}});
  }
  return table;
}

/// Why no task has a circuit.
std::string no_circuit_text(const ResultsGroup& group) {
  const Variable& of_edges = group.variable("edge_margin");
  const Array& can_do = group.values("can_do");
  const auto done =
      numbers_where(can_do.size(), [&](std::size_t task) { return can_do(task) == 1; });
  if (done.empty()) return not_done_text(group);
  if (std::ranges::none_of(
          done, [&](std::size_t task) { return of_edges.estimate(task).has_interval(); })) {
    return "too few pairs are run exactly (--paths-pairs) to tell";
  }
  return "the edges are not shown to raise the margin of a task that the model is shown to do";
}

/// The fewest edges that keep the margin of a task, in the order of integrated gradients.
std::string paths_found(const ResultsGroup& group) {
  const Array& fewest = group.values("circuit_edges_90");
  std::optional<std::size_t> sparsest;
  for (std::size_t task = 0; task < fewest.size(); ++task) {
    if (std::isnan(fewest(task))) continue;
    if (!sparsest || fewest(task) < fewest(*sparsest)) sparsest = task;
  }
  if (!sparsest) return "No task is shown to have a circuit: " + no_circuit_text(group) + ".";
  return "With edges in the order of integrated gradients, " + task_name(group, *sparsest) +
         " needs the fewest: " + circuit_sentence(group, *sparsest) + ".";
}

std::vector<std::string> task_lines(const ResultsGroup& group) {
  return first_task_lines(group, "circuit_edges_90",
                          [&](std::size_t task) { return task_line(group, task); });
}

}  // namespace

std::string not_done_text(const ResultsGroup& group) {
  const Variable& accuracy = group.variable("accuracy");
  for (std::size_t task = 0; task < accuracy.values.size(); ++task) {
    if (accuracy.estimate(task).has_interval()) {
      return "the model is not shown to do any of the tasks";
    }
  }
  return no_interval_text(std::ranges::max(group.values("n_pair").values), "pairs");
}

std::string paths_summary(const ResultsGroup& group) {
  return "An edge runs from a part of the model that writes to the residual stream to a later one "
         "that reads it; a head reads by queries, keys or values.\n" +
         joined(task_lines(group), "\n");
}

Presentation paths_presentation() {
  return {.group = "paths",
          .describe =
              [](const Results& results) {
                Description description;
                const ResultsGroup& group = results.group("paths");
                description.found = paths_found(group);
                description.tasks = circuit_table(group);
                description.add("Paths", what_tasks_need, task_lines(group));
                return description;
              },
          .edges = {{.title = "What it reads, and what reads it",
                     .caption = "Change of the task's margin without the edge, by integrated "
                                "gradients, in nats per pair: the largest of those with q < " +
                                number_text(significant_q, 2) + ".",
                     .effect = "edge_integrated",
                     .q = "edge_q",
                     .level = significant_q,
                     .eligible = "can_do"}},
          .variables = &path_variables};
}

}  // namespace headscope
