#pragma once

#include "base/vector_math.hpp"

/// The MLP's activation functions, for loops that become vector code.
namespace headscope::activations {

[[gnu::always_inline]] inline float gelu_new(float x) {
  // x (1 + tanh u) / 2 = x logistic(2u), u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation.
  constexpr float slope = 1.5957691216F, cubic = slope * 0.044715F;
  return x * vector_math::logistic(x * (slope + cubic * x * x));
}

[[gnu::always_inline]] inline float gelu(float x) {
  return x * vector_math::normal_cdf(x);
}

[[gnu::always_inline]] inline float relu(float x) {
  return x < 0.0F ? 0.0F : x;
}

}  // namespace headscope::activations
