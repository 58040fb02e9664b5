#include "compute/product/bfloat16.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/vector_math.hpp"
#include "compute/product/bfloat16_kernel.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace bfloat16 {
namespace {

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
[[gnu::always_inline]] inline void split_row(const float* x, float scale, Number* rows) {
#pragma omp simd
  for (Index i = 0; i < tile_inputs; ++i) {
    float rest = x[i] * scale;
#pragma GCC unroll 3
    for (int part = 0; part < n_part; ++part) {
      rows[part * part_size + i] = static_cast<Number>(take_part<n_part>(part, rest) >> 16U);
    }
  }
}

template <int n_part>
[[gnu::always_inline]] inline void split_column(const float* x, Index n, float scale,
                                                Number* rows) {
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
                                       Number* rows) {
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
    __builtin_prefetch(W.column(i));
    __builtin_prefetch(W.column(i) + tile_rows);
  }
}

// A tile of weights holds two inputs of an output side by side.
template <int n_part>
[[gnu::always_inline]] inline void split_outputs(const float* weights, Number* tiles) {
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
HEADSCOPE_VECTORISED void split_outputs(const float* weights, int n_part, Number* tiles) {
  if (n_part == 1) split_outputs<1>(weights, tiles);
  if (n_part == 2) split_outputs<2>(weights, tiles);
  if (n_part == 3) split_outputs<3>(weights, tiles);
}

Kernel kernel_of(Bfloat16Kernel kernel, int n_part) {
#if defined(__x86_64__)
  if (kernel == Bfloat16Kernel::amx) return amx_kernel(n_part);
#endif
  static_cast<void>(kernel);
  return portable_kernel(n_part);
}

// The tile registers of this thread, for as long as this lives.
class TileRegisters {
 public:
  explicit TileRegisters(Bfloat16Kernel kernel) : used_(kernel == Bfloat16Kernel::amx) {
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

}  // namespace
}  // namespace bfloat16

using bfloat16::part_size;
using bfloat16::tile_inputs;
using bfloat16::tile_rows;
using bfloat16::tile_size;

const std::vector<Bfloat16Kernel>& bfloat16_kernels() {
  static const std::vector<Bfloat16Kernel> kernels = [] {
    std::vector<Bfloat16Kernel> found{Bfloat16Kernel::portable};
    const Processor& processor = this_processor();
    if (processor.amx_bf16) found.push_back(Bfloat16Kernel::amx);
    return found;
  }();
  return kernels;
}

std::size_t Bfloat16Sums::word_count(Index n_in, Index count) const {
  return rounded_up(n_in, tile_inputs) * rounded_up(count, block) *
         static_cast<std::size_t>(n_part_);
}

std::size_t Bfloat16Sums::step_size() const {
  return static_cast<std::size_t>(n_part_) * part_size;
}

std::size_t Bfloat16Sums::place(const Operand& operand, Index index, Index input) const {
  return (index / block * (rounded_up(operand.n_in, tile_inputs) / tile_inputs) +
          input / tile_inputs) *
         step_size();
}

void Bfloat16Sums::pack_column(const float* x, float scale, Index column, Operand& X) const {
  bfloat16::Number* const rows =
      X.words.data() + place(X, column, 0) + column % block * tile_inputs;
#if defined(__x86_64__)
  if (kernel_ == Bfloat16Kernel::amx) {
    bfloat16::split_column_amx(x, X.n_in, scale, n_part_, rows);
    return;
  }
#endif
  bfloat16::split_column(x, X.n_in, scale, n_part_, rows);
}

void Bfloat16Sums::copy_column(const Operand& from, Index column, Index to_column,
                               Operand& to) const {
  const bfloat16::Number* x =
      from.words.data() + place(from, column, 0) + column % block * tile_inputs;
  bfloat16::Number* y = to.words.data() + place(to, to_column, 0) + to_column % block * tile_inputs;
  for (Index first = 0; first < from.n_in; first += tile_inputs) {
    for (int part = 0; part < n_part_; ++part, x += part_size, y += part_size) {
      std::copy_n(x, tile_inputs, y);
    }
  }
}

void Bfloat16Sums::pack_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                                Operand& packed) const {
  const bool transposed = transpose == blas::Transpose::yes;
  const Index n_out = transposed ? W.n_col : W.n_row;
  const Index input_stride = transposed ? 1 : W.stride, output_stride = transposed ? W.stride : 1;
  bfloat16::Number* const tiles = packed.words.data() + place(packed, first, 0);
  alignas(cache_line) std::array<float, tile_inputs * tile_rows> weights;
  for (Index step = 0; step * tile_inputs < packed.n_in; ++step) {
    const Index first_in = step * tile_inputs,
                n_input = std::min(tile_inputs, packed.n_in - first_in);
    if (!transposed) bfloat16::prefetch_inputs(W, first_in + tile_inputs);
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
        bfloat16::transpose_tile(w, output_stride, weights.data());
      } else {
        bfloat16::copy_tile(w, input_stride, weights.data());
      }
      bfloat16::Number* const tile = tiles + step * step_size() + half * tile_size;
      bfloat16::split_outputs(weights.data(), n_part_, tile);
    }
  }
}

void Bfloat16Sums::multiply(OperandRange X, OperandRange W, Index n_in, blas::View Y,
                            bool add) const {
  const bfloat16::Kernel kernel = bfloat16::kernel_of(kernel_, n_part_);
  const bfloat16::TileRegisters registers(kernel_);
  const Index n_step = rounded_up(n_in, tile_inputs) / tile_inputs;
  const auto block_of = [this](const OperandRange& range, Index index) {
    return range.operand.words.data() + place(range.operand, range.first + index, range.first_in);
  };
  for (Index c = 0; c < Y.n_col; c += block) {
    const bfloat16::Number* const x = block_of(X, c);
    const Index n_col = std::min(block, Y.n_col - c);
    for (Index o = 0; o < Y.n_row; o += block) {
      const bfloat16::Number* const w = block_of(W, o);
      const Index n_row = std::min(block, Y.n_row - o);
      const blas::View y = Y.rows(o, n_row).cols(c, n_col);
      if (n_row == block && n_col == block) {
        kernel(x, w, n_step, y.data, y.stride, add);
      } else {
        fill_part(y, add, [&](float* full) { kernel(x, w, n_step, full, block, add); });
      }
    }
  }
}

}  // namespace headscope
