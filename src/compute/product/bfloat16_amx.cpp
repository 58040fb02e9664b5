#include "compute/product/bfloat16_kernel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#define HEADSCOPE_AMX gnu::target("amx-tile,amx-bf16")
#define HEADSCOPE_BF16 gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")

namespace headscope::bfloat16 {
namespace {

[[gnu::always_inline, HEADSCOPE_BF16]] inline __m512 widened(const Number* numbers) {
  constexpr __mmask16 every = 0xFFFF;  // lanes; GCC 12 warns of these functions without mask
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
  return _mm512_castsi512_ps(
      _mm512_maskz_slli_epi32(every, _mm512_maskz_cvtepu16_epi32(every, values), 16));
}

// Tile registers: 0 to 3 sums, 4 and 5 columns, 6 and 7 outputs. Loads go between the products, so
// that neither wait long for the other.
[[gnu::always_inline, HEADSCOPE_AMX]] inline void add_products(const Number* x, bool new_x,
                                                               const Number* w, bool new_w) {
  if (new_x) _tile_loadd(4, x, cache_line);
  if (new_w) _tile_loadd(6, w, cache_line);
  _tile_dpbf16ps(0, 4, 6);
  if (new_w) _tile_loadd(7, w + tile_size, cache_line);
  _tile_dpbf16ps(1, 4, 7);
  if (new_x) _tile_loadd(5, x + tile_size, cache_line);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// Not inlined: the compiler does not see that tile instructions read memory.
template <int n_part>
[[gnu::noinline, HEADSCOPE_AMX]] void multiply_amx(const Number* x, const Number* w, Index n_step,
                                                   float* y, Index stride, bool add) {
  float* const lower = y + tile_rows * stride;
  const Index bytes = stride * sizeof(float);
  if (add) {
    _tile_loadd(0, y, bytes);
    _tile_loadd(1, y + tile_rows, bytes);
    _tile_loadd(2, lower, bytes);
    _tile_loadd(3, lower + tile_rows, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (Index step = 0; step < n_step; ++step) {
    Pair loaded{-1, -1};
#pragma GCC unroll 6
    for (const Pair pair : products(n_part)) {
      add_products(x + pair.x * part_size, pair.x != loaded.x, w + pair.w * part_size,
                   pair.w != loaded.w);
      loaded = pair;
    }
    x += n_part * part_size;
    w += n_part * part_size;
  }
  _tile_stored(0, y, bytes);
  _tile_stored(1, y + tile_rows, bytes);
  _tile_stored(2, lower, bytes);
  _tile_stored(3, lower + tile_rows, bytes);
}

// Parts round to nearest, ties to even; what is left for the last of three fits it.
template <int n_part>
[[HEADSCOPE_BF16]] void split_column_amx(const float* x, Index n, float scale, Number* rows) {
  const __m512 factor = _mm512_set1_ps(scale);
  for (Index first = 0; first < n; first += tile_inputs, rows += n_part * part_size) {
    const Index left = n - first;
    const __mmask32 mask = left < tile_inputs ? (1U << left) - 1 : ~0U;
    __m512 low = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask & 0xFFFFU, x + first), factor);
    __m512 high = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask >> 16U, x + first + 16), factor);
#pragma GCC unroll 3
    for (int part = 0; part < n_part; ++part) {
      Number* const row = rows + part * part_size;
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
      _mm512_storeu_si512(row, both);
      low = _mm512_sub_ps(low, widened(row));
      high = _mm512_sub_ps(high, widened(row + 16));
    }
  }
}

// Intel's Software Developer's Manual, volume 1, section 18.3: palette 1 has eight tiles.
struct alignas(cache_line) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t n_row[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

[[gnu::noinline, HEADSCOPE_AMX]] void begin_amx() {
  static constexpr TileConfiguration configuration;
  _tile_loadconfig(&configuration);
}
[[gnu::noinline, HEADSCOPE_AMX]] void end_amx() {
  _tile_release();
}

void split_column_amx(const float* x, Index n, float scale, int n_part, Number* rows) {
  if (n_part == 1) split_column_amx<1>(x, n, scale, rows);
  if (n_part == 2) split_column_amx<2>(x, n, scale, rows);
  if (n_part == 3) split_column_amx<3>(x, n, scale, rows);
}

Kernel amx_kernel(int n_part) {
  if (n_part == 1) return multiply_amx<1>;
  return n_part == 2 ? multiply_amx<2> : multiply_amx<3>;
}

}  // namespace headscope::bfloat16

#endif
