#include "compute/product/int16.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/vector_math.hpp"
#include "compute/product/int16_kernel.hpp"
#include "headscope/processor.hpp"

namespace headscope {
namespace int16 {
namespace {

// Norms of columns and of outputs. With rounding, which adds at most sqrt(group) / 2 to each, their
// product stays below 2^31.
constexpr double column_norm = 32700, output_norm = 65500, largest_number = 32767;

Index padded_inputs(Index n_in) {
  return (n_in + 1) / 2 * 2;
}

Index group_count(Index n_in) {
  return (n_in + group - 1) / group;
}

// What numbers are multiplied by before they are rounded, and products after; the latter is NaN for
// NaN and infinity.
struct Scale {
  float before = 0, after = 0;
};

Scale scale_of(double square_sum, double norm, double largest) {
  if (square_sum == 0) return {};
  double scale = norm / std::sqrt(square_sum);
  if (largest * scale > largest_number) scale = largest_number / largest;
  if (!std::isfinite(square_sum)) return {0, std::nanf("")};
  scale = std::min(scale, 1e37);  // of denormal numbers, which lose precision
  return {static_cast<float>(scale), static_cast<float>(1 / scale)};
}

// Sums in eight parts, the same for every instruction set. Squares of floats are exact in double.
HEADSCOPE_VECTORISED double square_sum(const float* x, Index n) {
  double sums[8] = {};
  Index i = 0;
  for (; i + 8 <= n; i += 8) {
#pragma omp simd
    for (Index j = 0; j < 8; ++j) {
      sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    }
  }
  for (; i < n; ++i) sums[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// To the nearest whole number, ties to even; one rounding.
[[gnu::always_inline]] inline std::int16_t rounded(float x, float scale) {
  constexpr float shift = vector_math::rounding_shift;
  return static_cast<std::int16_t>(std::bit_cast<std::int32_t>(std::fma(x, scale, shift)) -
                                   std::bit_cast<std::int32_t>(shift));
}

HEADSCOPE_VECTORISED void round_column(const float* x, Index n, float scale, std::int16_t* to) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) to[i] = rounded(x[i], scale);
}

// Of 16 outputs, all of an input side by side.
HEADSCOPE_VECTORISED void measure_outputs(const float* weights, Index n_in, double* squares,
                                          float* largest) {
  for (Index i = 0; i < n_in; ++i) {
#pragma omp simd
    for (Index o = 0; o < outputs_together; ++o) {
      const float w = weights[i * outputs_together + o];
      squares[o] += static_cast<double>(w) * static_cast<double>(w);
      const float size = vector_math::select(w < 0.0F, -w, w);
      largest[o] = size > largest[o] ? size : largest[o];
    }
  }
}

HEADSCOPE_VECTORISED void round_outputs(const float* weights, Index n_in, const float* scale,
                                        std::int16_t* to) {
  for (Index i = 0; i < n_in; ++i) {
    std::int16_t* const pair = to + i / 2 * 2 * outputs_together + i % 2;
#pragma omp simd
    for (Index o = 0; o < outputs_together; ++o) {
      pair[2 * o] = rounded(weights[i * outputs_together + o], scale[o]);
    }
  }
}

// Zero for missing outputs, and for a missing last input of a pair.
void take_outputs(blas::ConstView W, blas::Transpose transpose, Index first_out, Index n_out,
                  Index first_in, Index n_in, float* weights) {
  if (n_out < outputs_together || n_in % 2 != 0) {
    std::fill_n(weights, padded_inputs(n_in) * outputs_together, 0.0F);
  }
  if (transpose == blas::Transpose::no) {
    for (Index i = 0; i < n_in; ++i) {
      std::copy_n(W.column(first_in + i) + first_out, n_out, weights + i * outputs_together);
    }
    return;
  }
  for (Index o = 0; o < n_out; ++o) {
    const float* const from = W.column(first_out + o) + first_in;
    for (Index i = 0; i < n_in; ++i) weights[i * outputs_together + o] = from[i];
  }
}

Kernel kernel_of(Int16Kernel kernel) {
#if defined(__x86_64__)
  if (kernel == Int16Kernel::avx2) return multiply_avx2;
  if (kernel == Int16Kernel::avx_vnni) return multiply_avx_vnni;
  if (kernel == Int16Kernel::avx512_vnni) return multiply_avx512_vnni;
#elif defined(__aarch64__)
  if (kernel == Int16Kernel::neon) return multiply_neon;
#endif
  static_cast<void>(kernel);
  return multiply_portable;
}

const std::int16_t* numbers(const Operand& operand) {
  return reinterpret_cast<const std::int16_t*>(operand.words.data());
}

std::int16_t* numbers(Operand& operand) {
  return reinterpret_cast<std::int16_t*>(operand.words.data());
}

}  // namespace
}  // namespace int16

using int16::group;
using int16::group_count;
using int16::outputs_together;
using int16::padded_inputs;

const std::vector<Int16Kernel>& int16_kernels() {
  static const std::vector<Int16Kernel> kernels = [] {
    std::vector<Int16Kernel> found{Int16Kernel::portable};
    const Processor& processor = this_processor();
    if (processor.avx2) found.push_back(Int16Kernel::avx2);
    if (processor.avx_vnni) found.push_back(Int16Kernel::avx_vnni);
    if (processor.avx512_vnni) found.push_back(Int16Kernel::avx512_vnni);
#if defined(__aarch64__)
    found.push_back(Int16Kernel::neon);  // every such processor has it
#endif
    return found;
  }();
  return kernels;
}

Index Int16Products::input_block() const {
  return group;
}

std::size_t Int16Products::word_count(Index n_in, Index count) const {
  return padded_inputs(n_in) * rounded_up(count, block);
}

std::size_t Int16Products::scale_count(Index n_in, Index count) const {
  return group_count(n_in) * rounded_up(count, block);
}

void Int16Products::pack_column(const float* x, float scale, Index column, Operand& X) const {
  const Index n_padded = padded_inputs(X.n_in);
  std::int16_t* const to = int16::numbers(X) + column * n_padded;
  float* const scales = X.scales.data() + column * group_count(X.n_in);
  for (Index first = 0; first < X.n_in; first += group) {
    const Index count = std::min(group, X.n_in - first);
    const int16::Scale found =
        int16::scale_of(int16::square_sum(x + first, count), int16::column_norm, 0);
    int16::round_column(x + first, count, found.before, to + first);
    scales[first / group] = found.after * scale;
  }
  std::fill(to + X.n_in, to + n_padded, std::int16_t{0});
}

void Int16Products::copy_column(const Operand& from, Index column, Index to_column,
                                Operand& to) const {
  const Index n_padded = padded_inputs(from.n_in), n_group = group_count(from.n_in);
  std::copy_n(int16::numbers(from) + column * n_padded, n_padded,
              int16::numbers(to) + to_column * n_padded);
  std::copy_n(from.scales.data() + column * n_group, n_group,
              to.scales.data() + to_column * n_group);
}

void Int16Products::pack_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                                 Operand& packed) const {
  const Index n_out = transpose == blas::Transpose::yes ? W.n_col : W.n_row;
  alignas(cache_line) std::array<float, group * outputs_together> weights;
  for (Index half = 0; half < block; half += outputs_together) {
    const Index n_here = std::min(outputs_together, n_out - std::min(n_out, half));
    std::int16_t* const to = int16::numbers(packed) + (first + half) * padded_inputs(packed.n_in);
    float* const scales = packed.scales.data() + (first + half) * group_count(packed.n_in);
    for (Index in = 0; in < packed.n_in; in += group) {
      const Index n_in = std::min(group, packed.n_in - in);
      int16::take_outputs(W, transpose, half, n_here, in, n_in, weights.data());
      std::array<double, outputs_together> squares{};
      std::array<float, outputs_together> largest{}, before{};
      int16::measure_outputs(weights.data(), n_in, squares.data(), largest.data());
      for (Index o = 0; o < outputs_together; ++o) {
        const int16::Scale found =
            int16::scale_of(squares[o], int16::output_norm, static_cast<double>(largest[o]));
        before[o] = found.before;
        scales[in / group * outputs_together + o] = found.after;
      }
      int16::round_outputs(weights.data(), padded_inputs(n_in), before.data(),
                           to + in * outputs_together);
    }
  }
}

void Int16Products::multiply(OperandRange X, OperandRange W, Index n_in, blas::View Y,
                             bool add) const {
  const int16::Kernel kernel = int16::kernel_of(kernel_);
  const Index x_stride = padded_inputs(X.operand.n_in), w_stride = padded_inputs(W.operand.n_in),
              x_groups = group_count(X.operand.n_in), w_groups = group_count(W.operand.n_in);
  // One group of some columns and 32 outputs.
  const auto multiply_group = [&](Index column, Index n_column, Index output, Index in, float* y,
                                  Index stride) {
    const Index x = X.first + column, w = W.first + output;
    const Index x_in = X.first_in + in, w_in = W.first_in + in;
    kernel({int16::numbers(X.operand) + x * x_stride + x_in, x_stride,
            X.operand.scales.data() + x * x_groups + x_in / group, x_groups,
            int16::numbers(W.operand) + w * w_stride + w_in * outputs_together,
            w_stride * outputs_together,
            W.operand.scales.data() + w * w_groups + w_in / group * outputs_together,
            w_groups * outputs_together, padded_inputs(std::min(group, n_in - in)) / 2, n_column},
           y, stride, add || in > 0);
  };
  for (Index output = 0; output < Y.n_row; output += block) {
    const Index n_row = std::min(block, Y.n_row - output);
    if (n_row == block) {
      for (Index in = 0; in < n_in; in += group) {
        multiply_group(0, Y.n_col, output, in, Y.data + output, Y.stride);
      }
      continue;
    }
    for (Index column = 0; column < Y.n_col; column += block) {
      const Index n_column = std::min(block, Y.n_col - column);
      fill_part(Y.rows(output, n_row).cols(column, n_column), add, [&](float* full) {
        for (Index in = 0; in < n_in; in += group) {
          multiply_group(column, n_column, output, in, full, block);
        }
      });
    }
  }
}

}  // namespace headscope
