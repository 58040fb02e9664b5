#pragma once

#include <cstdint>
#include <set>

#include "headscope/types.hpp"

namespace headscope {

/// Random numbers addressed by (seed, stream, counter) instead of drawn in sequence: the same on
/// every machine, compiler and thread count, and draw 1000 needs no draws before it.
///
///   value(counter) = mix(mix(mix(seed + c) + stream + c) + counter + c),  c = 0x9e3779b97f4a7c15
///
/// where mix is SplitMix64's output function and all sums are modulo 2^64.
/// Source: Steele, Lea & Flood 2014, "Fast Splittable Pseudorandom Number Generators".
class CounterRandom {
 public:
  explicit CounterRandom(std::uint64_t seed, std::uint64_t stream = 0);

  /// 64 uniform bits.
  std::uint64_t value(std::uint64_t counter) const;
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform(std::uint64_t counter) const;
  /// Uniform in 0 .. n-1, n >= 1; each value's probability is off by less than 2^-64.
  std::uint64_t below(std::uint64_t n, std::uint64_t counter) const;

 private:
  std::uint64_t key_;
};

/// A sample of `count` of 0 .. n-1 spread evenly over them: element i is drawn from the i-th of
/// `count` equal parts, floor(i n / count) + below(size of the part, i).
/// @param count  at most n.
std::set<Index> spread_sample(Index n, Index count, const CounterRandom& random);

}  // namespace headscope
