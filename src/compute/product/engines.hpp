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
  /// Bound on what the rounding of the operands adds to a product of two vectors, as a share of the
  /// product of their Euclidean norms.
  double rounding;
  const Arithmetic* arithmetic;  ///< null for OpenBLAS, which multiplies operands as they lie
};

/// Every engine, the more exact first.
std::span<const EngineEntry> engines();

const EngineEntry& entry_of(Engine engine);

/// Bound on the error of a product of two vectors of `n_in` numbers, as a share of the product of
/// their Euclidean norms: the operands' rounding, and that of a sum in float32 in any order.
double error_bound(Engine engine, Index n_in);

}  // namespace headscope
