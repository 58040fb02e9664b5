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
      EngineEntry{Engine::float32, "float32", Precision::float32, any, nullptr},
      EngineEntry{Engine::bfloat16_six, "bfloat16 x 6", Precision::float32, any, &three},
      EngineEntry{Engine::bfloat16_three, "bfloat16 x 3", Precision::high, any, &two},
      EngineEntry{Engine::bfloat16_one, "bfloat16", Precision::fast, 0, &one},
      // On trained models, eight documents: errors of 6e-4 of a typical change at worst.
      EngineEntry{Engine::int16, "int16", Precision::fast, 3, &int16},
  };
  return entries;
}

const EngineEntry& entry_of(Engine engine) {
  return *std::ranges::find(engines(), engine, &EngineEntry::engine);
}

}  // namespace headscope
