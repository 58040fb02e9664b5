#include "paths/circuit_pruning.hpp"

#include <algorithm>

#include "random_draws.hpp"

namespace headscope {
namespace {

constexpr Index n_random_part = 10, most_parts_in_order = 32;

/// Tries to drop each of n_part parts of the circuit, the last first.
/// @param accept  whether the circuit of these edges keeps enough of the margin; if so, later
///                circuits are compared with its margin.
/// @param places  in the circuit, in the order in which they are split into parts.
/// @return        whether a part went.
bool drop_parts(std::vector<Index>& circuit, const std::vector<Index>& places, Index n_part,
                const std::function<bool(const std::vector<Index>& edges)>& accept) {
  std::vector<unsigned char> gone(circuit.size(), 0);
  const auto left = [&] {
    std::vector<Index> edges;
    for (Index i = 0; i < circuit.size(); ++i) {
      if (gone[i] == 0) edges.push_back(circuit[i]);
    }
    return edges;
  };
  bool any = false;
  for (Index part = n_part; part-- > 0;) {
    const Index begin = places.size() * part / n_part, end = places.size() * (part + 1) / n_part;
    if (begin == end) continue;
    const auto mark = [&](unsigned char value) {
      for (Index i = begin; i < end; ++i) gone[places[i]] = value;
    };
    mark(1);
    if (accept(left())) {
      any = true;
    } else {
      mark(0);
    }
  }
  circuit = left();
  return any;
}

}  // namespace

std::vector<Index> pruned_circuit(
    std::vector<Index> circuit, const std::vector<std::vector<Index>>& groups,
    const std::function<double(const std::vector<Index>& edges)>& margin_of, double most_lost,
    double least, const CounterRandom& random) {
  double current = margin_of(circuit);
  least = std::min(least, current - most_lost);
  const auto accept = [&](const std::vector<Index>& edges) {
    const double margin = margin_of(edges);
    if (!(margin >= current - most_lost && margin >= least)) return false;
    current = margin;
    return true;
  };
  for (Index n_part = 2; n_part <= most_parts_in_order; n_part *= 2) {
    std::vector<Index> places(circuit.size());
    for (Index i = 0; i < places.size(); ++i) places[i] = i;
    drop_parts(circuit, places, n_part, accept);
  }
  for (const std::vector<Index>& group : groups) {
    std::vector<Index> left = circuit;
    std::erase_if(left, [&](Index edge) { return std::ranges::find(group, edge) != group.end(); });
    if (left.size() < circuit.size() && accept(left)) circuit = std::move(left);
  }
  for (std::uint64_t round = 0;; ++round) {
    const std::vector<Index> places =
        permutation(circuit.size(), CounterRandom(random.value(round)));
    if (!drop_parts(circuit, places, n_random_part, accept)) return circuit;
  }
}

}  // namespace headscope
