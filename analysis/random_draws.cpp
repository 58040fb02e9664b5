#include "random_draws.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace headscope {

void fill_normal(double* values, std::size_t count, const CounterRandom& random) {
  for (std::size_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform(i)));
    const double angle = 2 * std::numbers::pi * random.uniform(i + 1);
    values[i] = radius * std::cos(angle);
    if (i + 1 < count) values[i + 1] = radius * std::sin(angle);
  }
}

std::vector<Index> permutation(Index n, const CounterRandom& random) {
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

std::set<Index> random_subset(Index n, Index count, const CounterRandom& random) {
  std::set<Index> subset;
  for (Index j = n - count; j < n; ++j) {
    if (!subset.insert(random.below(j + 1, j)).second) subset.insert(j);
  }
  return subset;
}

}  // namespace headscope
