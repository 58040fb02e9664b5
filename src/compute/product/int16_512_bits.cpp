#include "compute/product/int16_kernel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>
#include <utility>

#define HEADSCOPE_AVX512_VNNI gnu::target("avx512f,avx512vnni")

namespace headscope::int16 {
namespace {

[[gnu::always_inline, HEADSCOPE_AVX512_VNNI]] inline __m512i avx512_vnni_pair(
    const std::int16_t* x) {
  std::int32_t both = 0;
  std::memcpy(&both, x, sizeof both);
  return _mm512_set1_epi32(both);
}

// Written out, because GCC 12 otherwise copies each sum to memory.
[[gnu::always_inline, HEADSCOPE_AVX512_VNNI]] inline void avx512_vnni_add(__m512i w, __m512i x,
                                                                          __m512i& sum) {
  __asm__("vpdpwssd %[x], %[w], %[sum]" : [sum] "+v"(sum) : [w] "v"(w), [x] "v"(x));
}

[[gnu::always_inline, HEADSCOPE_AVX512_VNNI]] inline void avx512_vnni_store(__m512i sum,
                                                                            float x_scale,
                                                                            const float* w_scale,
                                                                            float* y, bool add) {
  const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(x_scale), _mm512_loadu_ps(w_scale));
  const __m512 before = add ? _mm512_loadu_ps(y) : _mm512_setzero_ps();
  // All lanes; GCC 12 warns of the conversion without mask.
  _mm512_storeu_ps(y, _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, sum), scale, before));
}

// Some columns times 32 outputs. The columns are written out by their indices, so that all sums
// stay in registers.
template <Index... c>
[[HEADSCOPE_AVX512_VNNI]] void avx512_vnni_columns(const Group& g, Index first, float* y,
                                                   Index stride, bool add,
                                                   std::integer_sequence<Index, c...> /*columns*/) {
  const std::int16_t* const x = g.x + first * g.x_stride;
  const float* const x_scale = g.x_scale + first * g.x_scale_stride;
  const Index x_stride = g.x_stride;
  __m512i low[sizeof...(c)], high[sizeof...(c)];
  ((low[c] = high[c] = _mm512_setzero_si512()), ...);
  for (Index p = 0; p < g.n_pair; ++p) {
    const __m512i w_low = _mm512_load_si512(g.w + 2 * p * outputs_together),
                  w_high = _mm512_load_si512(g.w + g.w_stride + 2 * p * outputs_together);
    __m512i both;
    ((both = avx512_vnni_pair(x + c * x_stride + 2 * p), avx512_vnni_add(w_low, both, low[c]),
      avx512_vnni_add(w_high, both, high[c])),
     ...);
  }
  ((avx512_vnni_store(low[c], x_scale[c * g.x_scale_stride], g.w_scale, y + c * stride, add),
    avx512_vnni_store(high[c], x_scale[c * g.x_scale_stride], g.w_scale + g.w_scale_stride,
                      y + c * stride + outputs_together, add)),
   ...);
}

}  // namespace

void multiply_avx512_vnni(const Group& g, float* y, Index stride, bool add) {
  Index first = 0;
  const auto multiply = [&](auto columns) {
    for (; first + columns.size() <= g.n_column; first += columns.size()) {
      avx512_vnni_columns(g, first, y + first * stride, stride, add, columns);
    }
  };
  multiply(std::make_integer_sequence<Index, 12>());
  multiply(std::make_integer_sequence<Index, 4>());
  multiply(std::make_integer_sequence<Index, 1>());
}

}  // namespace headscope::int16

#endif
