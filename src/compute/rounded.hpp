#pragma once

#include <cstdint>

#include "headscope/types.hpp"

/// Float32 values as sums of two numbers of a narrower type.
namespace headscope {

/// The bits of a bfloat16: the upper half of a float32.
using Bfloat16 = std::uint16_t;

/// x = high + low up to 2^-16 of itself, each rounded to nearest.
void split_bfloat16(const float* x, Index n, Bfloat16* high, Bfloat16* low);
/// high alone.
void round_bfloat16(const float* x, Index n, Bfloat16* high);

/// x = scale (256 high + low), up to half of scale.
/// @return scale; 0 if all of x is.
float split_int8(const float* x, Index n, std::int8_t* high, std::int8_t* low);

inline float widen(Bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U);
}
inline float widen(std::int8_t x) {
  return static_cast<float>(x);
}

}  // namespace headscope
