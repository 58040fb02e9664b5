#include "compute/rounded.hpp"

#include <algorithm>
#include <cmath>

#include "compute/vector_math.hpp"

namespace headscope {
namespace {

// Rounds to nearest, ties to even.
[[gnu::always_inline]] inline Bfloat16 bfloat16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<Bfloat16>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

HEADSCOPE_VECTORISED float largest_magnitude(const float* x, Index n) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (Index i = 0; i < n; ++i) {
    const float magnitude = std::abs(x[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

HEADSCOPE_VECTORISED void split_scaled(const float* x, Index n, float inverse_scale,
                                       std::int8_t* high, std::int8_t* low) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    // Adding 1.5 * 2^23 rounds to a whole number, which the low bits then hold.
    const float shifted = x[i] * inverse_scale + vector_math::rounding_shift;
    const auto whole =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                  std::bit_cast<std::uint32_t>(vector_math::rounding_shift));
    const std::int32_t upper = (whole + 128) >> 8;
    high[i] = static_cast<std::int8_t>(upper);
    low[i] = static_cast<std::int8_t>(whole - upper * 256);
  }
}

}  // namespace

HEADSCOPE_VECTORISED void split_bfloat16(const float* x, Index n, Bfloat16* high, Bfloat16* low) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    high[i] = bfloat16_of(x[i]);
    low[i] = bfloat16_of(x[i] - widen(high[i]));
  }
}

HEADSCOPE_VECTORISED void round_bfloat16(const float* x, Index n, Bfloat16* high) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) high[i] = bfloat16_of(x[i]);
}

float split_int8(const float* x, Index n, std::int8_t* high, std::int8_t* low) {
  // The largest whole number whose high part is 127.
  constexpr float largest = 127 * 256 + 127;
  const float scale = largest_magnitude(x, n) / largest;
  // The inverse of a denormal scale may be infinite: values so small count as zero.
  const float inverse = scale < 1e-37F ? 0.0F : 1 / scale;
  split_scaled(x, n, inverse, high, low);
  return inverse == 0 ? 0.0F : scale;
}

}  // namespace headscope
