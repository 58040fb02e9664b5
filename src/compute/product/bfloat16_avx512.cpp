#include "compute/product/bfloat16_kernel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#define HEADSCOPE_AVX512_BF16 gnu::target("avx512f,avx512bf16")

namespace headscope::bfloat16 {
namespace {

// The products of 32 inputs are summed before they are added, as AMX does: y is rounded once for
// all of them, which makes six products as exact as OpenBLAS's.
template <int n_part>
[[HEADSCOPE_AVX512_BF16]] void multiply_avx512_bf16(const Number* x, const Number* w, Index n_step,
                                                    float* y, Index stride, bool add) {
  constexpr Index at_once = 8;
  for (Index first = 0; first < Arithmetic::block; first += at_once) {
    for (Index step = 0; step < n_step; ++step) {
      __m512 sums[at_once][2];
      for (Index c = 0; c < at_once; ++c) sums[c][0] = sums[c][1] = _mm512_setzero_ps();
      for (const Pair pair : products(n_part)) {
        const Number* const rows = x + (step * n_part + pair.x) * part_size + first * tile_inputs;
        const Number* const tiles = w + (step * n_part + pair.w) * part_size;
        for (Index p = 0; p < pairs; ++p) {
          const auto w_0 = (__m512bh)_mm512_loadu_si512(tiles + p * tile_inputs);
          const auto w_1 = (__m512bh)_mm512_loadu_si512(tiles + tile_size + p * tile_inputs);
          for (Index c = 0; c < at_once; ++c) {
            std::int32_t word = 0;
            std::memcpy(&word, rows + c * tile_inputs + 2 * p, sizeof word);
            const auto both = (__m512bh)_mm512_set1_epi32(word);
            sums[c][0] = _mm512_dpbf16_ps(sums[c][0], w_0, both);
            sums[c][1] = _mm512_dpbf16_ps(sums[c][1], w_1, both);
          }
        }
      }
      for (Index c = 0; c < at_once; ++c) {
        float* const to = y + (first + c) * stride;
        for (Index half = 0; half < 2; ++half) {
          float* const place = to + half * tile_rows;
          const bool first_sum = step == 0 && !add;
          _mm512_storeu_ps(place, first_sum ? sums[c][half]
                                            : _mm512_add_ps(_mm512_loadu_ps(place), sums[c][half]));
        }
      }
    }
  }
}

}  // namespace

Kernel avx512_kernel(int n_part) {
  if (n_part == 1) return multiply_avx512_bf16<1>;
  return n_part == 2 ? multiply_avx512_bf16<2> : multiply_avx512_bf16<3>;
}

}  // namespace headscope::bfloat16

#endif
