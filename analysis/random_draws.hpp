#pragma once

#include <cstddef>
#include <set>
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

/// `count` different ones of 0 .. n-1, each subset as likely: for j = n - count .. n - 1, below(j +
/// 1, j) or, if that is taken, j.
/// @param count  at most n.
/// Source: Floyd, in Bentley & Floyd 1987, "A sample of brilliance".
std::set<Index> random_subset(Index n, Index count, const CounterRandom& random);

}  // namespace headscope
