#pragma once

#include <limits>

#include "headscope/estimate.hpp"

namespace headscope {

/// Effects with a smaller q-value count as significant.
inline constexpr double significant_q = 0.05;

/// Losses that differ by less differ by the rounding of float32.
inline double rounding_of(double loss) {
  return std::numeric_limits<float>::epsilon() * loss;
}

/// Whether the interval of a loss increase lies above 0 by more than float32 rounds the loss.
/// @param loss  of the unchanged model, in the units of the increase.
inline bool is_measurable(const Estimate& increase, double loss) {
  return increase.low > rounding_of(loss);
}

}  // namespace headscope
