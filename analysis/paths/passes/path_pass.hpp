#pragma once

#include <vector>

#include "headscope/edges.hpp"
#include "paths/paths.hpp"
#include "paths/sums.hpp"
#include "task_pass.hpp"

namespace headscope {

struct PathsInput : TaskPassInput {
  EdgeGraph graph;
  std::vector<std::vector<Index>> given;  ///< per task, edges in the order of --paths-ordering;
                                          ///< empty: none

  PathsInput(const AnalysisContext& context, std::vector<Task> all_tasks)
      : TaskPassInput(context, std::move(all_tasks)),
        graph(context.model.config),
        given(tasks.size()) {}

  const PathsOptions& options() const { return settings.options<PathsOptions>(); }
  Index n_edge_left() const { return graph.edges_left().size(); }
};

using PathPass = TaskPassEntry<PathsInput>;

/// Sums what nodes write over the tokens of each task, for its mean.
PathPass node_averaging_pass();
/// Takes the margins of all pairs, and the effect of every edge on them from gradients.
PathPass edge_gradient_pass();
/// Ablates the largest edges exactly, and runs circuits of 0, 1, 2, 4, ... edges in several orders.
PathPass exact_pass();
/// Narrows down from how many edges on circuits keep most of the margin: runs those of
/// CircuitSize::next. @param number  of the narrowing pass, from 0 on.
PathPass narrowing_pass(int number);
/// Prunes the circuits found by the passes before, by exact checks on half the sampled pairs, and
/// runs what is left on the other half. All pairs of a task are run in its first batch.
PathPass circuit_pruning_pass();

/// What replaces the outputs of nodes on each task.
struct NodeMeans {
  /// d_model x (n_node n_position), the positions of a node side by side; zero with zero ablation
  /// or without tokens.
  std::vector<Matrix> replacement;
  std::vector<Vector> token;  ///< d_model, mean token embedding
};

/// @param earlier  the sums of node_averaging_pass.
NodeMeans node_means(const PathsInput& input, const Statistics& earlier);

}  // namespace headscope
