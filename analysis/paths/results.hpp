#pragma once

#include <string>
#include <vector>

#include "analysis.hpp"
#include "headscope/edges.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Group `paths` from the summed statistics.
ResultsGroup paths_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const EdgeGraph& graph, const AnalysisSettings& settings);

/// Adds how well composition measured in the weights predicts the edges between heads, and the
/// claim about it. Nothing without the group `circuits`.
void add_composition(const Results& all, const EdgeGraph& graph, const AnalysisSettings& settings,
                     ResultsGroup& group);

/// One edge of a task's circuit.
struct CircuitEdge {
  std::size_t node = 0, port = 0;
  double effect = 0;  ///< first-order, nats
};

/// The significant ones of the fewest edges that keep 90 % of a task's margin, largest effect
/// first; none if the model cannot do the task.
std::vector<CircuitEdge> circuit_of(const ResultsGroup& group, std::size_t task);

/// The strongest significant edge between two heads, by its exact effect, or else between any
/// parts: `L0H4 → L3H3 by keys`; empty if there is none.
std::string strongest_path(const ResultsGroup& group, std::size_t task);

/// `L0H4 → L3H3 by keys`, from the labels of node and port.
std::string edge_text(const std::string& node, const std::string& port);

/// The part of the report about the finished group.
ReportPart paths_report(const ResultsGroup& group);
/// Some sentences for the group's section.
std::string paths_summary(const ResultsGroup& group);

std::vector<Figure> paths_figures(const Results& results);

}  // namespace headscope
