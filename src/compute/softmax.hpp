#pragma once

#include <limits>

#include "headscope/types.hpp"

namespace headscope {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// The largest of `count` values; -infinity when there are none. NaN is ignored.
float maximum(const float* values, Index count);

/// values = exp(values - shift), in place; 0 where that is below e^-87.
/// @param shift  the largest of the values, or more; at most 88 less.
/// @return their sum, relative error below 1e-6.
double exponentiate(float* values, Index count, float shift);

/// values *= factor, in place.
void scale(float* values, Index count, float factor);

}  // namespace headscope
