#pragma once

#include <cstdint>
#include <vector>

#include "compute/cache_line.hpp"
#include "headscope/blas.hpp"

/// Products of numbers that are held as sums of bfloat16, a type that AMX multiplies many times as
/// fast as float32: x = high + middle + low, each the rest rounded to nearest: the first is within
/// 2^-9 of x, two are within 2^-18, three are x. All sums are float32. The instructions take
/// denormal parts for zero, so that numbers below 2^-110 lose their low parts; an infinite number
/// of several parts gives NaN.
///
/// Loading tiles takes longer than multiplying them. Here a part that is loaded meets all parts of
/// the other operand that it has to; a library's products of bfloat16, one for each pair of parts,
/// would load both anew each time (bench/README.md has the speeds).
namespace headscope {

/// The bits of a bfloat16: the upper half of a float32.
using Bfloat16 = std::uint16_t;

/// Whose instructions multiply. All give the same numbers up to the order of float32 sums.
enum class TileKernel {
  portable,
  avx512_bf16,
  amx,
};
/// Those that this processor and operating system have, best last.
const std::vector<TileKernel>& tile_kernels();

/// One operand of a product: columns of activations, or outputs of weights, each with its `n_in`
/// numbers.
///
/// Laid out in the order in which a product reads it: blocks of 32 columns or outputs; of a block
/// 32 inputs at a time; of these the parts, largest first; of a part two tiles of AMX, 1 KB each.
/// What is missing of the last outputs and inputs is zero; missing columns are undefined.
class Tiles {
 public:
  static constexpr Index block = 32;

  /// Makes room, and keeps it for smaller sizes. Contents become undefined.
  void set_size(Index n_in, Index count, int n_part);

  /// Takes one column, times `scale`, as number `index`. @param x  n_in values.
  void set_column(Index index, const float* x, float scale = 1);
  /// Takes `block` outputs, or as many as there are, from number `first` on, a multiple of `block`.
  /// @param W  outputs x n_in, or its transpose, of these outputs.
  void set_outputs(Index first, blas::ConstView W, blas::Transpose transpose);

  Index n_in() const { return n_in_; }
  Index count() const { return count_; }
  int n_part() const { return n_part_; }

  static std::uint64_t bytes(Index n_in, Index count, int n_part);

 private:
  friend struct TileRange;
  Index n_step() const { return (n_in_ + block - 1) / block; }
  std::size_t block_size() const { return n_step() * step_size(); }
  std::size_t step_size() const;
  Bfloat16* block_of(Index index) { return values_.data() + index / block * block_size(); }

  Index n_in_ = 0, count_ = 0;
  int n_part_ = 0;
  CacheLines<Bfloat16> values_;
};

/// Columns or outputs from one on, and their inputs from one on: multiples of Tiles::block.
struct TileRange {
  const Tiles& tiles;
  Index first = 0, first_in = 0;

  /// The block of the column or output `index` of this range.
  const Bfloat16* block_of(Index index) const;
};

/// Y = W X, or Y += W X, on the calling thread, for Y.n_col columns, Y.n_row outputs and `n_in`
/// inputs.
///
/// With one part, the product of the parts; with two, without the product of the low parts: within
/// 3 * 2^-18 of |W| |X|; with three, the six products that matter: as exact as float32.
///
/// @param X, W  of the same n_part.
void multiply_tiles(TileRange X, TileRange W, Index n_in, blas::View Y, bool add,
                    TileKernel kernel = tile_kernels().back());

}  // namespace headscope
