#include <algorithm>
#include <cmath>

#include "paths/results.hpp"
#include "report_text.hpp"
#include "significance.hpp"

namespace headscope {

std::vector<CircuitEdge> circuit_of(const ResultsGroup& group, std::size_t task) {
  std::vector<CircuitEdge> edges;
  if (group.values("can_do")(task) == 0) return edges;
  const double least = least_circuit_share * group.values("margin")(task);
  const Variable& change = group.variable("edge_change");
  const Array q = group.values("edge_change_q").part(task);
  const auto place_of = [&](const char* variable, const char* dimension, std::size_t i) {
    const std::string& label = group.texts(variable)[task * q.size() + i];
    return group.dimension(dimension).index_of(label);
  };
  for (std::size_t i = 0; i < q.size(); ++i) {
    const Estimate effect = change.estimate(task * q.size() + i);
    if (!(q(i) < significant_q) || !(std::abs(effect.value) >= least)) continue;
    edges.push_back({place_of("edge_node", "node", i), place_of("edge_port", "port", i), effect});
  }
  std::ranges::stable_sort(edges, std::greater(),
                           [](const CircuitEdge& edge) { return std::abs(edge.change.value); });
  return edges;
}

std::string edge_text(const std::string& node, const std::string& port) {
  const std::size_t dot = port.rfind('.');
  const std::string to = node + " → " + port.substr(0, dot);
  if (dot == std::string::npos) return to;
  const char kind = port[dot + 1];
  return to + (kind == 'q' ? " by queries" : kind == 'k' ? " by keys" : " by values");
}

bool has_edges(const ResultsGroup& group, std::size_t task, std::size_t node) {
  return !std::isnan(
      group.values("edge_integrated")(task, node, group.dimension("port").index_of("logits")));
}

bool is_between_heads(const ResultsGroup& group, const CircuitEdge& edge) {
  return group.labels("node")[edge.node].starts_with('L') &&
         group.labels("port")[edge.port].find('.') != std::string::npos;
}

std::string strongest_between_heads(const ResultsGroup& group, std::size_t task) {
  const std::vector<CircuitEdge> edges = circuit_of(group, task);
  const auto strongest = std::ranges::find_if(
      edges, [&](const CircuitEdge& edge) { return is_between_heads(group, edge); });
  if (strongest == edges.end()) return "";
  return edge_text(group.labels("node")[strongest->node], group.labels("port")[strongest->port]) +
         " (without it " + (strongest->change.value > 0 ? "+" : "") +
         margin_text(strongest->change) + ")";
}

}  // namespace headscope
