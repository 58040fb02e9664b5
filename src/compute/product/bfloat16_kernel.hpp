#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "compute/product/arithmetic.hpp"

/// The layout of operands that are sums of bfloat16, and the kernels that multiply them, one file
/// for each instruction set.
///
/// An operand is laid out in the order in which a product reads it: blocks of 32 columns or
/// outputs; of a block 32 inputs at a time; of these the parts, largest first; of a part two tiles
/// of AMX, 1 KB each. What is missing of the last outputs and inputs is zero.
namespace headscope::bfloat16 {

/// The bits of a bfloat16: the upper half of a float32.
using Number = std::uint16_t;

inline constexpr Index tile_rows = 16, tile_inputs = 32, pairs = tile_inputs / 2;
inline constexpr Index tile_size = tile_rows * tile_inputs, part_size = 2 * tile_size;

/// The parts of X and of W that are multiplied. Neighbours share an operand where they can.
struct Pair {
  int x, w;
};
inline constexpr std::array<Pair, 1> one_product{{{0, 0}}};
inline constexpr std::array<Pair, 3> three_products{{{1, 0}, {0, 0}, {0, 1}}};
inline constexpr std::array<Pair, 6> six_products{{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}}};

constexpr std::span<const Pair> products(int n_part) {
  if (n_part == 1) return one_product;
  if (n_part == 2) return three_products;
  return six_products;
}

/// Multiplies a block of 32 columns by one of 32 outputs: y = w x, or y += w x.
/// @param n_step  blocks of 32 inputs.
/// @param stride  of y's columns.
using Kernel = void (*)(const Number* x, const Number* w, Index n_step, float* y, Index stride,
                        bool add);

/// The kernel of each instruction set for operands of `n_part` parts.
Kernel portable_kernel(int n_part);
#if defined(__x86_64__)
Kernel amx_kernel(int n_part);
/// Splits n values, times `scale`, as rows of each part's tile, 32 of them a tile; the last row is
/// filled up with zeros.
void split_column_amx(const float* x, Index n, float scale, int n_part, Number* rows);
/// Takes and gives back the tile registers, around calls of the kernel of AMX.
void begin_amx();
void end_amx();
#endif

}  // namespace headscope::bfloat16
