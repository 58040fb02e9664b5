#include "compute/product/int16_kernel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>
#include <utility>

#define HEADSCOPE_AVX2 gnu::target("avx2,fma")

namespace headscope::int16 {
namespace {

[[gnu::always_inline, HEADSCOPE_AVX2]] inline __m256i int16_pair(const std::int16_t* x) {
  std::int32_t both = 0;
  std::memcpy(&both, x, sizeof both);
  return _mm256_set1_epi32(both);
}

// Written out, because GCC 12 otherwise loads w anew for each column and copies each sum.
template <bool vnni>
[[gnu::always_inline, HEADSCOPE_AVX2]] inline void int16_add(__m256i w, __m256i x, __m256i& sum) {
  if constexpr (vnni) {
    // Without the prefix the assembler takes the instruction of AVX-512.
    __asm__("%{vex%} vpdpwssd %[x], %[w], %[sum]" : [sum] "+x"(sum) : [w] "x"(w), [x] "x"(x));
  } else {
    __m256i product;
    __asm__("vpmaddwd %[x], %[w], %[product]\n\tvpaddd %[product], %[sum], %[sum]"
            : [sum] "+x"(sum), [product] "=&x"(product)
            : [w] "x"(w), [x] "x"(x));
  }
}

[[gnu::always_inline, HEADSCOPE_AVX2]] inline void int16_store(__m256i sum, float x_scale,
                                                               const float* w_scale, float* y,
                                                               bool add) {
  const __m256 scale = _mm256_mul_ps(_mm256_set1_ps(x_scale), _mm256_loadu_ps(w_scale));
  const __m256 before = add ? _mm256_loadu_ps(y) : _mm256_setzero_ps();
  _mm256_storeu_ps(y, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, before));
}

// Some columns times 16 outputs. The columns are written out by their indices, so that all sums
// stay in registers.
template <bool vnni, Index... c>
[[HEADSCOPE_AVX2]] void int16_columns(const Group& g, const std::int16_t* x, const float* x_scale,
                                      const std::int16_t* w, const float* w_scale, float* y,
                                      Index stride, bool add,
                                      std::integer_sequence<Index, c...> /*columns*/) {
  __m256i low[sizeof...(c)], high[sizeof...(c)];
  ((low[c] = high[c] = _mm256_setzero_si256()), ...);
  const Index stride_x = g.x_stride;
  const std::int16_t* const x3 = x + 3 * stride_x;
  for (Index p = 0; p < g.n_pair; ++p) {
    const auto* const pair = reinterpret_cast<const __m256i*>(w + 2 * p * outputs_together);
    const __m256i w_low = _mm256_load_si256(pair), w_high = _mm256_load_si256(pair + 1);
    __m256i both;
    ((both = int16_pair((c < 3 ? x + c * stride_x : x3 + (c - 3) * stride_x) + 2 * p),
      int16_add<vnni>(w_low, both, low[c]), int16_add<vnni>(w_high, both, high[c])),
     ...);
  }
  ((int16_store(low[c], x_scale[c * g.x_scale_stride], w_scale, y + c * stride, add),
    int16_store(high[c], x_scale[c * g.x_scale_stride], w_scale + 8, y + c * stride + 8, add)),
   ...);
}

template <bool vnni>
void multiply_256(const Group& g, float* y, Index stride, bool add) {
  for (Index half = 0; half < 2; ++half) {
    const std::int16_t* const w = g.w + half * g.w_stride;
    const float* const w_scale = g.w_scale + half * g.w_scale_stride;
    Index first = 0;
    const auto multiply = [&](auto columns) {
      for (; first + columns.size() <= g.n_column; first += columns.size()) {
        int16_columns<vnni>(g, g.x + first * g.x_stride, g.x_scale + first * g.x_scale_stride, w,
                            w_scale, y + first * stride + half * outputs_together, stride, add,
                            columns);
      }
    };
    multiply(std::make_integer_sequence<Index, 6>());
    multiply(std::make_integer_sequence<Index, 2>());
    multiply(std::make_integer_sequence<Index, 1>());
  }
}

}  // namespace

void multiply_avx2(const Group& g, float* y, Index stride, bool add) {
  multiply_256<false>(g, y, stride, add);
}

void multiply_avx_vnni(const Group& g, float* y, Index stride, bool add) {
  multiply_256<true>(g, y, stride, add);
}

}  // namespace headscope::int16

#endif
