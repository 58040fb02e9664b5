#pragma once

#include <functional>
#include <vector>

#include "headscope/random.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Drops edges from a circuit that the margin does not need, by exact checks: a part of the edges
/// goes if the margin without it is at least that with it less `most_lost`, and at least `least`,
/// or less `most_lost` than that of the whole circuit if it is lower. First the edges are split
/// into 2, 4, ... 32 parts along their order, each tried from the smallest edges on; then every
/// group is tried; then ten parts at random, until none of the ten can go.
///
/// @param circuit    edges, the largest effect first.
/// @param groups     edges that may be needed together or not at all, such as those of a node.
/// @param margin_of  margin of the circuit of some edges.
/// @param most_lost  by a part, in units of the margin.
/// @return           the edges left, in their order.
std::vector<Index> pruned_circuit(
    std::vector<Index> circuit, const std::vector<std::vector<Index>>& groups,
    const std::function<double(const std::vector<Index>& edges)>& margin_of, double most_lost,
    double least, const CounterRandom& random);

}  // namespace headscope
