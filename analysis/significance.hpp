#pragma once

#include <limits>

#include "headscope/estimate.hpp"

namespace headscope {

/// Effects with a smaller q-value count as significant.
inline constexpr double significant_q = 0.05;

/// Whether the interval of a loss increase lies above 0 by more than float32 rounds the loss.
/// @param loss  of the unchanged model, in the units of the increase.
inline bool is_measurable(const Estimate& increase, double loss) {
  return increase.low > std::numeric_limits<float>::epsilon() * loss;
}

}  // namespace headscope
