#pragma once

#include <functional>
#include <vector>

#include "headscope/random.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Drops edges that the margin of a circuit does not need, by exact checks. A part of the edges
/// is dropped if the margin falls by at most `most_lost` and stays at or above
/// min(`least`, first margin - `most_lost`). First the edges are split in order into 2, 4, ... 32
/// parts, which are tried from the smallest effects on. Then every group is tried. Then the edges
/// are split at random into ten parts, until none of the ten can be dropped.
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
