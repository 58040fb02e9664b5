#include "compute/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "compute/vector_math.hpp"
#include "headscope/processor.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headscope {
namespace {

constexpr Index tile_rows = 16, tile_inputs = 32, pairs = tile_inputs / 2;
constexpr Index tile_size = tile_rows * tile_inputs, part_size = 2 * tile_size;

// The parts of X and of W that are multiplied. Neighbours share an operand where they can.
struct Pair {
  int x, w;
};
constexpr std::array<Pair, 1> one_product{{{0, 0}}};
constexpr std::array<Pair, 3> three_products{{{1, 0}, {0, 0}, {0, 1}}};
constexpr std::array<Pair, 6> six_products{{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}}};

constexpr std::span<const Pair> products(int n_part) {
  if (n_part == 1) return one_product;
  if (n_part == 2) return three_products;
  return six_products;
}

// The next part of a number, whose lower half is zero: it is rounded to nearest, ties to even, and
// taken from the rest. The last of three is all that is left. NaN stays NaN, whose bits may be all
// ones.
template <int n_part>
[[gnu::always_inline]] inline std::uint32_t take_part(int part, float& rest) {
  const auto bits = std::bit_cast<std::uint32_t>(rest);
  if (part == 2) return bits & 0xFFFF0000U;
  std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16U & 1U)) & 0xFFFF0000U;
  if (part == 0) rounded = rest != rest ? 0x7FC00000U : rounded;
  if (part + 1 < n_part) rest -= std::bit_cast<float>(rounded);
  return rounded;
}

// 32 values, times `scale`, as a row of each part's tile.
template <int n_part>
[[gnu::always_inline]] inline void split_row(const float* x, float scale, Bfloat16* rows) {
#pragma omp simd
  for (Index i = 0; i < tile_inputs; ++i) {
    float rest = x[i] * scale;
#pragma GCC unroll 3
    for (int part = 0; part < n_part; ++part) {
      rows[part * part_size + i] = static_cast<Bfloat16>(take_part<n_part>(part, rest) >> 16U);
    }
  }
}

template <int n_part>
[[gnu::always_inline]] inline void split_column(const float* x, Index n, float scale,
                                                Bfloat16* rows) {
  for (; n >= tile_inputs; n -= tile_inputs, x += tile_inputs, rows += n_part * part_size) {
    split_row<n_part>(x, scale, rows);
  }
  if (n == 0) return;
  float last[tile_inputs] = {};
  for (Index i = 0; i < n; ++i) last[i] = x[i];
  split_row<n_part>(last, scale, rows);
}

// n values, 32 at a time.
HEADSCOPE_VECTORISED void split_column(const float* x, Index n, float scale, int n_part,
                                       Bfloat16* rows) {
  if (n_part == 1) split_column<1>(x, n, scale, rows);
  if (n_part == 2) split_column<2>(x, n, scale, rows);
  if (n_part == 3) split_column<3>(x, n, scale, rows);
}

// The weights of a tile, all outputs of an input side by side.
HEADSCOPE_VECTORISED void copy_tile(const float* w, Index input_stride, float* weights) {
  for (Index i = 0; i < tile_inputs; ++i) {
#pragma omp simd
    for (Index o = 0; o < tile_rows; ++o) weights[i * tile_rows + o] = w[i * input_stride + o];
  }
}

// Sixteen floats; a type of the compiler's, because loops that transpose do not become vector code.
using Row [[gnu::vector_size(64)]] = float;

// Four rounds of interleaving rows eight apart transpose a square.
HEADSCOPE_VECTORISED void transpose_tile(const float* w, Index output_stride, float* weights) {
  for (Index half = 0; half < 2; ++half) {
    Row rows[2][tile_rows];
    for (Index o = 0; o < tile_rows; ++o) {
      std::memcpy(&rows[0][o], w + o * output_stride + half * tile_rows, sizeof(Row));
    }
    for (int round = 0; round < 4; ++round) {
      const Row* const from = rows[round % 2];
      Row* const to = rows[1 - round % 2];
      for (Index o = 0; o < tile_rows / 2; ++o) {
        to[2 * o] = __builtin_shufflevector(from[o], from[o + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
        to[2 * o + 1] = __builtin_shufflevector(from[o], from[o + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
      }
    }
    std::memcpy(weights + half * tile_size / 2, rows[0], sizeof rows[0]);
  }
}

// Asks for a block's weights of the inputs from `first` on: they lie too far apart for the
// processor to foresee them.
void prefetch_inputs(blas::ConstView W, Index first) {
  const Index end = std::min(first + tile_inputs, W.n_col);
  for (Index i = first; i < end; ++i) {
    __builtin_prefetch(W.data + i * W.stride);
    __builtin_prefetch(W.data + i * W.stride + tile_rows);
  }
}

// A tile of weights holds two inputs of an output side by side.
template <int n_part>
[[gnu::always_inline]] inline void split_outputs(const float* weights, Bfloat16* tiles) {
  for (Index pair = 0; pair < pairs; ++pair) {
    const float* const even = weights + 2 * pair * tile_rows;
#pragma omp simd
    for (Index o = 0; o < tile_rows; ++o) {
      float even_rest = even[o], odd_rest = even[tile_rows + o];
#pragma GCC unroll 3
      for (int part = 0; part < n_part; ++part) {
        const std::uint32_t low = take_part<n_part>(part, even_rest);
        const std::uint32_t high = take_part<n_part>(part, odd_rest);
        const std::uint32_t both = low >> 16U | high;
        std::memcpy(tiles + part * part_size + 2 * (pair * tile_rows + o), &both, sizeof both);
      }
    }
  }
}

// @param weights  tile_inputs x tile_rows: all outputs of an input side by side.
HEADSCOPE_VECTORISED void split_outputs(const float* weights, int n_part, Bfloat16* tiles) {
  if (n_part == 1) split_outputs<1>(weights, tiles);
  if (n_part == 2) split_outputs<2>(weights, tiles);
  if (n_part == 3) split_outputs<3>(weights, tiles);
}

// A kernel multiplies a block of 32 columns by one of 32 outputs: y = w x, or y += w x.
using Kernel = void (*)(const Bfloat16* x, const Bfloat16* w, Index n_step, float* y, Index stride,
                        bool add);

[[gnu::always_inline]] inline float widen(Bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U);
}

// y of one column += 16 outputs of one tile times its row.
HEADSCOPE_VECTORISED void multiply_row(const Bfloat16* x, const Bfloat16* w, float* y) {
  float sums[tile_rows] = {};
  for (Index pair = 0; pair < pairs; ++pair) {
    const float even = widen(x[2 * pair]), odd = widen(x[2 * pair + 1]);
    const Bfloat16* const weights = w + pair * tile_inputs;
#pragma omp simd
    for (Index o = 0; o < tile_rows; ++o) {
      std::uint32_t both = 0;
      std::memcpy(&both, weights + 2 * o, sizeof both);
      sums[o] +=
          std::bit_cast<float>(both << 16U) * even + std::bit_cast<float>(both & 0xFFFF0000U) * odd;
    }
  }
#pragma omp simd
  for (Index o = 0; o < tile_rows; ++o) y[o] += sums[o];
}

template <int n_part>
void multiply_portable(const Bfloat16* x, const Bfloat16* w, Index n_step, float* y, Index stride,
                       bool add) {
  for (Index column = 0; column < Tiles::block && !add; ++column) {
    std::fill_n(y + column * stride, Tiles::block, 0.0F);
  }
  for (Index step = 0; step < n_step; ++step) {
    for (const Pair pair : products(n_part)) {
      const Bfloat16* const rows = x + pair.x * part_size;
      const Bfloat16* const tiles = w + pair.w * part_size;
      for (Index column = 0; column < Tiles::block; ++column) {
        multiply_row(rows + column * tile_inputs, tiles, y + column * stride);
        multiply_row(rows + column * tile_inputs, tiles + tile_size,
                     y + column * stride + tile_rows);
      }
    }
    x += n_part * part_size;
    w += n_part * part_size;
  }
}

#if defined(__x86_64__)

#define HEADSCOPE_AVX512_BF16 gnu::target("avx512f,avx512bf16")
#define HEADSCOPE_AMX gnu::target("amx-tile,amx-bf16")

template <int n_part>
[[HEADSCOPE_AVX512_BF16]] void multiply_avx512_bf16(const Bfloat16* x, const Bfloat16* w,
                                                    Index n_step, float* y, Index stride,
                                                    bool add) {
  constexpr Index at_once = 8;
  for (Index first = 0; first < Tiles::block; first += at_once) {
    __m512 sums[at_once][2];
    for (Index c = 0; c < at_once; ++c) {
      const float* const from = y + (first + c) * stride;
      sums[c][0] = add ? _mm512_loadu_ps(from) : _mm512_setzero_ps();
      sums[c][1] = add ? _mm512_loadu_ps(from + tile_rows) : _mm512_setzero_ps();
    }
    for (Index step = 0; step < n_step; ++step) {
      for (const Pair pair : products(n_part)) {
        const Bfloat16* const rows = x + (step * n_part + pair.x) * part_size + first * tile_inputs;
        const Bfloat16* const tiles = w + (step * n_part + pair.w) * part_size;
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
    }
    for (Index c = 0; c < at_once; ++c) {
      _mm512_storeu_ps(y + (first + c) * stride, sums[c][0]);
      _mm512_storeu_ps(y + (first + c) * stride + tile_rows, sums[c][1]);
    }
  }
}

// Tile registers: 0 to 3 sums, 4 and 5 columns, 6 and 7 outputs. Loads go between the products, so
// that neither wait long for the other.
[[gnu::always_inline, HEADSCOPE_AMX]] inline void add_products(const Bfloat16* x, bool new_x,
                                                               const Bfloat16* w, bool new_w) {
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
[[gnu::noinline, HEADSCOPE_AMX]] void multiply_amx(const Bfloat16* x, const Bfloat16* w,
                                                   Index n_step, float* y, Index stride, bool add) {
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

// Intel's Software Developer's Manual, volume 1, section 18.3: palette 1 has eight tiles.
struct alignas(cache_line) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t n_row[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::noinline, HEADSCOPE_AMX]] void begin_amx() {
  static constexpr TileConfiguration configuration;
  _tile_loadconfig(&configuration);
}
[[gnu::noinline, HEADSCOPE_AMX]] void end_amx() {
  _tile_release();
}

#endif

Kernel kernel_of(TileKernel kernel, int n_part) {
  const auto of = [n_part](Kernel one, Kernel two, Kernel three) {
    if (n_part == 1) return one;
    return n_part == 2 ? two : three;
  };
#if defined(__x86_64__)
  if (kernel == TileKernel::amx) return of(multiply_amx<1>, multiply_amx<2>, multiply_amx<3>);
  if (kernel == TileKernel::avx512_bf16) {
    return of(multiply_avx512_bf16<1>, multiply_avx512_bf16<2>, multiply_avx512_bf16<3>);
  }
#endif
  return of(multiply_portable<1>, multiply_portable<2>, multiply_portable<3>);
}

// The tile registers of this thread, for as long as this lives.
class TileRegisters {
 public:
  explicit TileRegisters(TileKernel kernel) : used_(kernel == TileKernel::amx) {
#if defined(__x86_64__)
    if (used_) begin_amx();
#endif
  }
  ~TileRegisters() {
#if defined(__x86_64__)
    if (used_) end_amx();
#endif
  }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;

 private:
  [[maybe_unused]] bool used_;
};

// A block of Y that is not whole.
void multiply_edge(Kernel kernel, const Bfloat16* x, const Bfloat16* w, Index n_step, blas::View Y,
                   bool add) {
  alignas(cache_line) std::array<float, Tiles::block * Tiles::block> whole{};
  for (Index c = 0; c < Y.n_col && add; ++c) {
    std::copy_n(Y.data + c * Y.stride, Y.n_row, whole.data() + c * Tiles::block);
  }
  kernel(x, w, n_step, whole.data(), Tiles::block, add);
  for (Index c = 0; c < Y.n_col; ++c) {
    std::copy_n(whole.data() + c * Tiles::block, Y.n_row, Y.data + c * Y.stride);
  }
}

}  // namespace

const std::vector<TileKernel>& tile_kernels() {
  static const std::vector<TileKernel> kernels = [] {
    std::vector<TileKernel> found{TileKernel::portable};
    const Processor& processor = this_processor();
    if (processor.avx512_bf16) found.push_back(TileKernel::avx512_bf16);
    if (processor.amx_bf16) found.push_back(TileKernel::amx);
    return found;
  }();
  return kernels;
}

std::size_t Tiles::step_size() const {
  return static_cast<std::size_t>(n_part_) * part_size;
}

void Tiles::set_size(Index n_in, Index count, int n_part) {
  n_in_ = n_in;
  count_ = count;
  n_part_ = n_part;
  const std::size_t size = (count + block - 1) / block * block_size();
  if (values_.size() >= size) return;
  values_ = {};  // not copied, and given back before more is taken
  values_ = CacheLines<Bfloat16>(size);
}

void Tiles::set_column(Index index, const float* x, float scale) {
  split_column(x, n_in_, scale, n_part_, block_of(index) + index % block * tile_inputs);
}

void Tiles::set_outputs(Index first, blas::ConstView W, blas::Transpose transpose) {
  const bool transposed = transpose == blas::Transpose::yes;
  const Index n_out = transposed ? W.n_col : W.n_row;
  const Index input_stride = transposed ? 1 : W.stride, output_stride = transposed ? W.stride : 1;
  Bfloat16* const tiles = block_of(first);
  alignas(cache_line) std::array<float, tile_inputs * tile_rows> weights;
  for (Index step = 0; step < n_step(); ++step) {
    const Index first_in = step * tile_inputs, n_input = std::min(tile_inputs, n_in_ - first_in);
    if (!transposed) prefetch_inputs(W, first_in + tile_inputs);
    for (Index half = 0; half < 2; ++half) {
      const Index first_out = std::min(n_out, half * tile_rows);
      const Index n_here = std::min(tile_rows, n_out - first_out);
      const float* const w = W.data + first_out * output_stride + first_in * input_stride;
      if (n_here < tile_rows || n_input < tile_inputs) {
        weights.fill(0);
        for (Index i = 0; i < n_input; ++i) {
          for (Index o = 0; o < n_here; ++o) {
            weights[i * tile_rows + o] = w[o * output_stride + i * input_stride];
          }
        }
      } else if (transposed) {
        transpose_tile(w, output_stride, weights.data());
      } else {
        copy_tile(w, input_stride, weights.data());
      }
      Bfloat16* const tile = tiles + step * step_size() + half * tile_size;
      split_outputs(weights.data(), n_part_, tile);
    }
  }
}

std::uint64_t Tiles::bytes(Index n_in, Index count, int n_part) {
  const auto whole = [](Index n) { return std::uint64_t{n + block - 1} / block * block; };
  return whole(n_in) * whole(count) * static_cast<std::uint64_t>(n_part) * sizeof(Bfloat16);
}

const Bfloat16* TileRange::block_of(Index index) const {
  return tiles.values_.data() + (first + index) / Tiles::block * tiles.block_size() +
         first_in / Tiles::block * tiles.step_size();
}

void multiply_tiles(TileRange X, TileRange W, Index n_in, blas::View Y, bool add,
                    TileKernel kernel) {
  const Kernel multiply = kernel_of(kernel, W.tiles.n_part());
  const TileRegisters registers(kernel);
  const Index n_step = (n_in + tile_inputs - 1) / tile_inputs;
  for (Index c = 0; c < Y.n_col; c += Tiles::block) {
    const Bfloat16* const x = X.block_of(c);
    const Index n_col = std::min(Tiles::block, Y.n_col - c);
    for (Index o = 0; o < Y.n_row; o += Tiles::block) {
      const Bfloat16* const w = W.block_of(o);
      const Index n_row = std::min(Tiles::block, Y.n_row - o);
      const blas::View y = Y.rows(o, n_row).cols(c, n_col);
      if (n_row == Tiles::block && n_col == Tiles::block) {
        multiply(x, w, n_step, y.data, y.stride, add);
      } else {
        multiply_edge(multiply, x, w, n_step, y, add);
      }
    }
  }
}

}  // namespace headscope
