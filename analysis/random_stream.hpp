#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headscope {

/// Random numbers that are the same on every machine and for any number of threads: SplitMix64, one
/// independent stream per (seed, stream).
///
/// Source: Steele, Lea & Flood 2014, "Fast Splittable Pseudorandom Number Generators".
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream);

  std::uint64_t next();
  /// Uniform in (0, 1], a multiple of 2^-53.
  double uniform();
  /// Fills with normal(0, 1), by the Box-Muller transform in pairs (cosine, sine).
  void fill_normal(double* values, std::size_t count);
  /// 0 .. n-1 in random order (Fisher-Yates from the end).
  std::vector<std::size_t> permutation(std::size_t n);

 private:
  std::uint64_t state_;
};

}  // namespace headscope
