#pragma once

#include <algorithm>

#include "headscope/analysis.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

struct PathsOptions {
  std::uint64_t n_step = 5;  ///< passes over which gradients are averaged, at least 1
  std::uint64_t n_exact = 50;
  std::string ablation = "mean";
  std::uint64_t n_pair = 32;  ///< 0: all
  std::uint64_t n_repeated = 100;
  std::string ordering;  ///< file of a circuit; empty: none

  void declare(OptionTable& option) {
    Option& steps =
        option(n_step, {"paths-steps", "M",
                        "number of passes for integrated gradients: the effect of an edge takes "
                        "the mean gradient over this many inputs from the mean embedding to the "
                        "tokens; 1: first-order effects only"});
    steps.least = 1;
    steps.most = 1000;
    option(n_exact, {"paths-exact", "N",
                     "number of edges to ablate exactly in each task; the edges with the largest "
                     "integrated effects are taken"});
    option(ablation, {"paths-ablation", "KIND",
                      "what replaces the output of a node when an edge is ablated: zero; mean, the "
                      "node's mean over the task's tokens; or position_mean, the node's mean at "
                      "the token's position. position_mean needs tasks whose sides all have the "
                      "same length, at most 64 tokens; other tasks use mean"})
        .choices = {"zero", "mean", "position_mean"};
    option(n_pair, {"paths-pairs", "N",
                    "number of pairs of each task, spread at random, on which edges are ablated "
                    "exactly and circuits are run; gradients use all pairs",
                    "all"});
    option(ordering, {"paths-ordering", "FILE",
                      "circuit_TASK.json of another tool; the run also measures how faithful its "
                      "edges are, taken largest score first",
                      "none"});
    option(n_repeated, {"paths-repeated", "N",
                        "number of pairs for a task of repeated random tokens, which is added to "
                        "the tasks of --tasks; 0: no such task"});
  }
  /// Tokens of a task's sides, at most, for means by position.
  static constexpr Index most_position = 64;
  /// Positions at which a task's nodes are averaged apart: all of its sides, 1 if all tokens after
  /// position 0 are averaged together.
  Index n_position(const Task& task) const {
    if (ablation != "position_mean" || task.pairs.empty()) return 1;
    const Index length = task.pairs.front().good.size();
    const bool has_one_length = std::ranges::all_of(task.pairs, [&](const TaskPair& pair) {
      return pair.good.size() == length && pair.bad.size() == length;
    });
    return has_one_length && length <= most_position ? length : 1;
  }
  /// How many of a task's pairs --paths-pairs samples.
  std::uint64_t n_sampled_pair(std::uint64_t n_task_pair) const {
    return n_pair == 0 ? n_task_pair : std::min(n_pair, n_task_pair);
  }
};

/// Analysis `paths`: on which edges, from a node to a port of a later node, tasks depend.
RegisteredAnalysis paths_analysis();

}  // namespace headscope
