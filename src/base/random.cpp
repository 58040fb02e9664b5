#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::uint64_t stream)
    : key_(mix(mix(seed + golden_gamma) + stream + golden_gamma)) {}

std::uint64_t CounterRandom::value(std::uint64_t counter) const {
  return mix(key_ + counter + golden_gamma);
}

double CounterRandom::uniform(std::uint64_t counter) const {
  return static_cast<double>(value(counter) >> 11) * 0x1p-53;
}

std::uint64_t CounterRandom::below(std::uint64_t n, std::uint64_t counter) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(value(counter)) * n) >> 64);
}

std::set<Index> spread_sample(Index n, Index count, const CounterRandom& random) {
  std::set<Index> sample;
  for (Index i = 0; i < count; ++i) {
    const Index begin = i * n / count, end = (i + 1) * n / count;
    sample.insert(begin + random.below(end - begin, i));
  }
  return sample;
}

}  // namespace headscope
