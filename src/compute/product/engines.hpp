#pragma once

#include <span>

#include "compute/product/arithmetic.hpp"
#include "headscope/precision.hpp"

namespace headscope {

/// One line of the list of engines.
struct EngineEntry {
  Engine engine;
  const char* name;     ///< as `engine_name` gives it
  Precision precision;  ///< the strictest that it keeps
  /// Ablations that change the losses by at most this multiple of a typical change are as exact as
  /// Precision::high asks.
  double high_up_to;
  const Arithmetic* arithmetic;  ///< null for OpenBLAS, which multiplies operands as they lie
};

/// Every engine.
std::span<const EngineEntry> engines();

const EngineEntry& entry_of(Engine engine);

}  // namespace headscope
