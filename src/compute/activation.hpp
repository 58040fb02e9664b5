#pragma once

#include "base/vector_math.hpp"
#include "headscope/config.hpp"

/// The MLP's activation functions, for loops that become vector code. Each has `value(x)` and
/// `slope(x)`, its derivative.
namespace headscope::activations {

/// x logistic(u(x)), u given by `Exponent`.
template <typename Exponent>
struct LogisticProduct {
  [[gnu::always_inline]] static float value(float x) {
    return x * vector_math::logistic(Exponent::of(x));
  }
  [[gnu::always_inline]] static float slope(float x) {
    const vector_math::LogisticSlope s = vector_math::logistic_and_slope(Exponent::of(x));
    return s.value + x * s.slope * Exponent::slope(x);
  }
};

struct GeluNewExponent {
  static constexpr float linear = 1.5957691216F, cubic = linear * 0.044715F;
  [[gnu::always_inline]] static float of(float x) { return x * (linear + cubic * x * x); }
  [[gnu::always_inline]] static float slope(float x) { return linear + 3.0F * cubic * x * x; }
};

struct SiluExponent {
  [[gnu::always_inline]] static float of(float x) { return x; }
  [[gnu::always_inline]] static float slope(float) { return 1.0F; }
};

struct QuickGeluExponent {
  static constexpr float linear = 1.702F;
  [[gnu::always_inline]] static float of(float x) { return linear * x; }
  [[gnu::always_inline]] static float slope(float) { return linear; }
};

// x (1 + tanh u) / 2 = x logistic(2u), u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation.
using GeluNew = LogisticProduct<GeluNewExponent>;
using Silu = LogisticProduct<SiluExponent>;
using QuickGelu = LogisticProduct<QuickGeluExponent>;

struct Gelu {
  [[gnu::always_inline]] static float value(float x) { return x * vector_math::normal_cdf(x); }
  [[gnu::always_inline]] static float slope(float x) {
    constexpr float density = 0.39894228F;  // 1 / sqrt(2 pi)
    return vector_math::normal_cdf(x) + x * density * vector_math::gaussian(x);
  }
};

struct Relu {
  [[gnu::always_inline]] static float value(float x) { return x < 0.0F ? 0.0F : x; }
  [[gnu::always_inline]] static float slope(float x) {
    return vector_math::select(x > 0.0F, 1.0F, 0.0F);
  }
};

/// take(Gelu()) for gelu, and so on.
template <typename Take>
auto with_functions(Activation activation, const Take& take) {
  switch (activation) {
    case Activation::gelu:
      return take(Gelu());
    case Activation::relu:
      return take(Relu());
    case Activation::silu:
      return take(Silu());
    case Activation::quick_gelu:
      return take(QuickGelu());
    case Activation::gelu_new:
      break;
  }
  return take(GeluNew());
}

}  // namespace headscope::activations
