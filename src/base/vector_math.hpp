#pragma once

#include <bit>
#include <cstdint>

/// Compiles a function with loops for several instruction sets and picks the best one when the
/// program starts. Without effect on other platforms, where the compiler's flags decide.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define HEADSCOPE_VECTORISED \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEADSCOPE_VECTORISED
#endif

/// Elementary functions without branches or table look-ups, so that a plain loop over them becomes
/// vector code. Errors are relative and hold over every float; NaN gives NaN.
///
/// Source: polynomials fitted by weighted least squares iterated towards the minimax fit.
namespace headscope::vector_math {

/// `yes` where `condition` holds, else `no`; with masks, because a conditional expression may
/// become a branch and prevent vectorisation.
[[gnu::always_inline]] inline float select(bool condition, float yes, float no) {
  const auto mask = static_cast<std::uint32_t>(-static_cast<std::int32_t>(condition));
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(yes) & mask) |
                              (std::bit_cast<std::uint32_t>(no) & ~mask));
}

/// 1.5 * 2^23: adding it rounds to a whole number and leaves that in the low bits.
inline constexpr float rounding_shift = 12582912.0F;

inline constexpr float small_exponent = 0.34F;
/// Not far below, e^x is denormal.
inline constexpr float least_exponent = -87.0F;

/// e^x - 1 for |x| < small_exponent, accurate relative to x.
[[gnu::always_inline]] inline float small_exponential_change(float x) {
  const float tail =
      0.49999994F + x * (0.16666521F + x * (0.04166839F + x * (0.008368717F + x * 0.0013814598F)));
  return x + x * x * tail;
}

/// e^x = 2^exponent (1 + tail); near x = 0 the exponent is 0 and the tail has the accuracy of x.
struct Reduced {
  std::int32_t exponent;
  float tail;
};

[[gnu::always_inline]] inline Reduced reduce_exponential(float x) {
  const float shifted = x * 1.44269504F + rounding_shift;
  const float nearest = shifted - rounding_shift;
  // ln 2 in two parts, the first short enough that its product is exact.
  const float r = (x - nearest * 0.693359375F) + nearest * 2.12194440e-4F;
  return {static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                    std::bit_cast<std::uint32_t>(rounding_shift)),
          small_exponential_change(r)};
}

[[gnu::always_inline]] inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((static_cast<std::uint32_t>(n) + 127U) << 23U);
}

/// e^x, within 2 units in the last place; denormal results included.
[[gnu::always_inline]] inline float exponential(float x) {
  // Beyond these the result is infinity or zero already; the comparisons let NaN pass.
  x = select(x > 89.0F, 89.0F, x);
  x = select(x < -104.0F, -104.0F, x);
  const Reduced reduced = reduce_exponential(x);
  // 2^exponent in two factors: one alone would not reach denormal results.
  const std::int32_t half = reduced.exponent >> 1;
  return (1.0F + reduced.tail) * power_of_two(half) * power_of_two(reduced.exponent - half);
}

/// e^x, within 2 units in the last place, but 0 below least_exponent. In fewer operations than
/// `exponential`. @param x  at most 88.
[[gnu::always_inline]] inline float normal_exponential(float x) {
  const Reduced reduced = reduce_exponential(x);
  const float value = (1.0F + reduced.tail) * power_of_two(reduced.exponent);
  return select(x < least_exponent, 0.0F, value);
}

/// e^x - 1, within 3 units in the last place, also near 0. @param x  from least_exponent to 88.
[[gnu::always_inline]] inline float exponential_change(float x) {
  const Reduced reduced = reduce_exponential(x);
  const float power = power_of_two(reduced.exponent);
  return power * reduced.tail + (power - 1.0F);
}

/// 1 / (1 + e^-x), within 4 units in the last place; denormal results included.
[[gnu::always_inline]] inline float logistic(float x) {
  // Uses e^-|x|, which cannot overflow: an infinite e^-x would turn a small result into zero.
  const float e = exponential(select(x < 0.0F, x, -x));
  return select(x < 0.0F, e, 1.0F) / (1.0F + e);
}

/// s = 1 / (1 + e^-x) and its derivative s (1 - s), without cancellation, within 5 and 10 units in
/// the last place where the result is not denormal.
struct LogisticSlope {
  float value, slope;
};

[[gnu::always_inline]] inline LogisticSlope logistic_and_slope(float x) {
  const float e = exponential(select(x < 0.0F, x, -x));
  const float larger = 1.0F / (1.0F + e), smaller = e * larger;
  return {select(x < 0.0F, smaller, larger), larger * smaller};
}

/// e^(-x^2 / 2), within 6 units in the last place where the result is not denormal.
[[gnu::always_inline]] inline float gaussian(float x) {
  // x^2 is rounded by up to x^2 * 6e-8, which the exponential would turn into a relative error;
  // `lost` is the part lost to rounding. Beyond 30 the result is zero anyway, and infinity would
  // turn into NaN.
  x = select(x > 30.0F, 30.0F, x);
  x = select(x < -30.0F, -30.0F, x);
  const float square = x * x;
  const float high = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFF000U);
  const float low = x - high;
  const float lost = ((high * high - square) + 2.0F * high * low) + low * low;
  return exponential(-0.5F * square) * (1.0F - 0.5F * lost);
}

/// The standard normal distribution function Phi(x) = (1 + erf(x / sqrt 2)) / 2, within 8 units in
/// the last place where the result is not denormal, in both tails.
[[gnu::always_inline]] inline float normal_cdf(float x) {
  float a = select(x < 0.0F, -x, x);
  a = select(a > 30.0F, 30.0F, a);
  // Mills' ratio, smooth in t over the whole half line.
  const float t = 1.0F / (1.0F + 0.3F * a);
  const float upper =
      t *
      (0.11968669F +
       t * (0.11957181F +
            t * (0.11023543F +
                 t * (0.07838963F +
                      t * (0.09615689F +
                           t * (-0.079423584F +
                                t * (0.19178464F +
                                     t * (-0.22821367F +
                                          t * (0.11243564F + t * -0.020623473F))))))))) *
      gaussian(a);
  return select(x < 0.0F, upper, 1.0F - upper);
}

}  // namespace headscope::vector_math
