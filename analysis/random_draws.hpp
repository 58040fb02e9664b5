#pragma once

#include <cstddef>
#include <vector>

#include "headscope/random.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Fills with normal(0, 1), by the Box-Muller transform of the stream's values 0, 1, 2 ... in
/// pairs: element 2i is sqrt(-2 ln(1 - u)) cos(2 pi v), element 2i + 1 the same with sin, where u
/// and v are uniform values 2i and 2i + 1.
void fill_normal(double* values, std::size_t count, const CounterRandom& random);

/// 0 .. n-1 in random order: Fisher-Yates from the end, place i - 1 swapping with below(i, i).
std::vector<Index> permutation(Index n, const CounterRandom& random);

}  // namespace headscope
