#include <algorithm>
#include <bit>
#include <cstring>

#include "base/vector_math.hpp"
#include "compute/product/bfloat16_kernel.hpp"

namespace headscope::bfloat16 {
namespace {

[[gnu::always_inline]] inline float widen(Number x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U);
}

// y of one column += 16 outputs times 32 inputs, all products of their parts. These are summed
// before they are added, so that y is rounded once.
HEADSCOPE_VECTORISED void add_step(const Number* x, const Number* w, int n_part, float* y) {
  float sums[tile_rows] = {};
  for (const Pair pair : products(n_part)) {
    const Number* const row = x + pair.x * part_size;
    const Number* const tile = w + pair.w * part_size;
    for (Index p = 0; p < pairs; ++p) {
      const float even = widen(row[2 * p]), odd = widen(row[2 * p + 1]);
      const Number* const weights = tile + p * tile_inputs;
#pragma omp simd
      for (Index o = 0; o < tile_rows; ++o) {
        std::uint32_t both = 0;
        std::memcpy(&both, weights + 2 * o, sizeof both);
        sums[o] += std::bit_cast<float>(both << 16U) * even +
                   std::bit_cast<float>(both & 0xFFFF0000U) * odd;
      }
    }
  }
#pragma omp simd
  for (Index o = 0; o < tile_rows; ++o) y[o] += sums[o];
}

template <int n_part>
void multiply_portable(const Number* x, const Number* w, Index n_step, float* y, Index stride,
                       bool add) {
  for (Index column = 0; column < Arithmetic::block && !add; ++column) {
    std::fill_n(y + column * stride, Arithmetic::block, 0.0F);
  }
  for (Index step = 0; step < n_step; ++step) {
    for (Index column = 0; column < Arithmetic::block; ++column) {
      const Number* const row = x + column * tile_inputs;
      add_step(row, w, n_part, y + column * stride);
      add_step(row, w + tile_size, n_part, y + column * stride + tile_rows);
    }
    x += n_part * part_size;
    w += n_part * part_size;
  }
}

}  // namespace

Kernel portable_kernel(int n_part) {
  if (n_part == 1) return multiply_portable<1>;
  return n_part == 2 ? multiply_portable<2> : multiply_portable<3>;
}

}  // namespace headscope::bfloat16
