#include "random_stream.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace headscope {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream)
    : state_(mix(mix(seed) + stream)) {}

std::uint64_t RandomStream::next() {
  state_ += 0x9e3779b97f4a7c15U;
  return mix(state_);
}

double RandomStream::uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

void RandomStream::fill_normal(double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    values[i] = radius * std::cos(angle);
    if (i + 1 < count) values[i + 1] = radius * std::sin(angle);
  }
}

std::vector<std::size_t> RandomStream::permutation(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[next() % i]);
  return order;
}

}  // namespace headscope
