#pragma once

#include <limits>

#include "headscope/estimate.hpp"
#include "headscope/statistics.hpp"

namespace headscope {

/// Effects with a smaller q-value count as significant.
inline constexpr double significant_q = 0.05;

/// Losses, or other sums, that differ by less differ by the rounding of float32.
inline double rounding_of(double sum) {
  return std::numeric_limits<float>::epsilon() * sum;
}

/// Two-sided p-value of a mean effect on pairs, by a t-test over the pairs. The variance includes
/// float32's rounding, so that it is not 0 where all pairs have the same effect.
/// @param size  mean over pairs of what the effect changes, e.g. the margin, in the same units.
inline double effect_p(double n_pair, double sum, double sum_of_squares, double size) {
  const double rounding = rounding_of(size);
  return paired_t_p(n_pair, sum, sum_of_squares + n_pair * rounding * rounding);
}

/// Whether the interval of an increase lies above 0 by more than float32 rounds.
/// @param before  what increases, e.g. the loss of the unchanged model, in the same units.
inline bool is_measurable(const Estimate& increase, double before) {
  return increase.is_above(rounding_of(before));
}

}  // namespace headscope
