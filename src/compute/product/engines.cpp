#include "compute/product/engines.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "compute/product/bfloat16.hpp"
#include "compute/product/int16.hpp"

namespace headscope {

std::span<const EngineEntry> engines() {
  static const Bfloat16Sums one(1), two(2), three(3);
  static const Int16Products int16;
  constexpr double any = std::numeric_limits<double>::infinity();
  static const std::array entries{
      // Rounding to bfloat16 leaves at most 2^-9 of a number, to two of them 2^-18, to three 2^-27.
      EngineEntry{Engine::float32, "float32", Precision::float32, any, 0, nullptr},
      EngineEntry{Engine::bfloat16_six, "bfloat16 x 6", Precision::float32, any, 0x1p-24, &three},
      EngineEntry{Engine::bfloat16_three, "bfloat16 x 3", Precision::high, any, 0x1p-16, &two},
      // On trained models, eight documents: errors of 6e-4 of a typical change at worst. Of 256
      // inputs of norm 32,700 rounding moves at most sqrt(256) / 2, of an output's as little.
      EngineEntry{Engine::int16, "int16", Precision::fast, 3, 5e-4, &int16},
      EngineEntry{Engine::bfloat16_one, "bfloat16", Precision::fast, 0, 0x1p-7, &one},
  };
  return entries;
}

const EngineEntry& entry_of(Engine engine) {
  return *std::ranges::find(engines(), engine, &EngineEntry::engine);
}

double error_bound(Engine engine, Index n_in) {
  return entry_of(engine).rounding + 0x1p-24 * static_cast<double>(n_in + 2);
}

}  // namespace headscope
