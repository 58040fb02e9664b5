#pragma once

#include <limits>

#include "headscope/estimate.hpp"

namespace headscope {

/// Effects with a smaller q-value count as significant.
inline constexpr double significant_q = 0.05;

/// Losses, or other sums, that differ by less differ by the rounding of float32.
inline double rounding_of(double sum) {
  return std::numeric_limits<float>::epsilon() * sum;
}

/// Whether the interval of an increase lies above 0 by more than float32 rounds.
/// @param before  what increases, e.g. the loss of the unchanged model, in the same units.
inline bool is_measurable(const Estimate& increase, double before) {
  return increase.low > rounding_of(before);
}

}  // namespace headscope
