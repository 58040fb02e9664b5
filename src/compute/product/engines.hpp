#pragma once

#include <span>

#include "compute/product/arithmetic.hpp"
#include "headscope/precision.hpp"

namespace headscope {

/// One line of the list of engines.
struct EngineEntry {
  Engine engine;
  const char* name;     ///< as `engine_name` gives it
  Precision precision;  ///< the strictest one it meets
  /// Meets Precision::high for ablations that change the losses by at most this multiple of a
  /// typical change.
  double high_up_to;
  /// What rounded operands add to u . v, as a share of |u| |v|: a bound.
  double rounding;
  const Arithmetic* arithmetic;  ///< null for OpenBLAS, which multiplies operands as they lie
};

/// Every engine, the more exact first.
std::span<const EngineEntry> engines();

const EngineEntry& entry_of(Engine engine);

/// Error of u . v as a share of |u| |v|, vectors of `n_in` numbers: a bound that counts the
/// rounding of operands and of a float32 sum in any order.
double error_bound(Engine engine, Index n_in);

}  // namespace headscope
