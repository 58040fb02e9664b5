#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "headscope/random.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Fills with normal(0, 1) draws by the Box-Muller transform. With u and v the stream's uniform
/// values 2i and 2i + 1, element 2i is sqrt(-2 ln(1 - u)) cos(2 pi v) and element 2i + 1 the same
/// with sin.
void fill_normal(double* values, std::size_t count, const CounterRandom& random);

/// 0 .. n-1 in random order. Fisher-Yates from the end: element i - 1 is swapped with below(i, i).
std::vector<Index> permutation(Index n, const CounterRandom& random);

/// A uniformly random subset of `count` of 0 .. n-1. For j = n - count .. n - 1 it takes
/// below(j + 1, j) or, if that is already in the subset, j.
/// @param count  at most n.
/// Source: Floyd, in Bentley & Floyd 1987, "A sample of brilliance".
std::set<Index> random_subset(Index n, Index count, const CounterRandom& random);

}  // namespace headscope
