#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/edges.hpp"
#include "headscope/head_types.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

extern const VariableTable path_variables;

/// Group `paths` from the summed statistics.
ResultsGroup paths_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const EdgeGraph& graph, const AnalysisSettings& settings);

/// Adds how well composition measured in the weights predicts the edges between heads, and the
/// claim about it. Nothing without the group `circuits`.
void add_composition(const Results& all, const EdgeGraph& graph, const AnalysisSettings& settings,
                     ResultsGroup& group);

/// An edge belongs to a task's circuit if ablating it changes the margin by this share of it.
/// Effects far smaller are significant too: an edge that is not needed still moves the scale of a
/// LayerNorm, alike in all pairs.
inline constexpr double least_circuit_share = 0.01;

/// Pruning drops a part of a circuit if the margin then falls by at most this share of edge_margin.
inline constexpr double most_lost_share = 0.01;

/// One edge of a task's circuit.
struct CircuitEdge {
  std::size_t node = 0, port = 0;
  Estimate change;  ///< of the margin when the edge is ablated, exact, nats
};

/// The edges ablated exactly that change a task's margin significantly and by at least
/// least_circuit_share of it, the largest first; none if the model is not shown to do the task.
std::vector<CircuitEdge> circuit_of(const ResultsGroup& group, std::size_t task);

/// Whether edges lead from a node, as from all but removed heads. @param task  with pairs.
bool has_edges(const ResultsGroup& group, std::size_t task, std::size_t node);

/// Whether the edge leads from a head to queries, keys or values of another.
bool is_between_heads(const ResultsGroup& group, const CircuitEdge& edge);

/// The largest edge of the circuit between two heads, with the exact change of the margin without
/// it: `L0H4 → L3H3 by keys (-0.85 nats, interval -1.1 to -0.6)`; empty if there is none.
std::string strongest_between_heads(const ResultsGroup& group, std::size_t task);

/// `L0H4 → L3H3 by keys`, from the labels of node and port.
std::string edge_text(const std::string& node, const std::string& port);

/// Why the model is shown to do none of the tasks: it is not shown to do any of them, or there are
/// no intervals to tell.
std::string not_done_text(const ResultsGroup& group);

Presentation paths_presentation();
/// Some sentences for the group's section.
std::string paths_summary(const ResultsGroup& group);

std::vector<Figure> paths_figures(const Results& results);

/// A task's circuit as a graph of its heads; nothing where no edge between heads matters.
/// @param types  of the heads, for their colours.
std::optional<Figure> circuit_figure(const ResultsGroup& group, std::size_t task,
                                     const std::optional<HeadTypes>& types);

}  // namespace headscope
