#pragma once

#include <vector>

#include "compute/product/arithmetic.hpp"

namespace headscope {

/// The instruction sets that multiply sums of bfloat16. All give the same numbers up to the order
/// of float32 sums.
enum class Bfloat16Kernel {
  portable,
  amx,
};
/// Those that this processor and operating system have, best last.
const std::vector<Bfloat16Kernel>& bfloat16_kernels();

/// Products of numbers that are held as sums of bfloat16, a type that AMX multiplies many times as
/// fast as float32: x = high + middle + low, each part rounding what is left. One part is within
/// 2^-9 of x, two within 2^-18, three are exact. All sums are float32. The instructions take
/// denormal parts for zero, so that numbers below 2^-110 lose their low parts; an infinite number
/// of several parts gives NaN.
///
/// With one part, the product of the parts; with two, without the product of the low parts: within
/// 3 * 2^-18 of |W| |X|; with three, the six products that matter: as exact as float32.
///
/// Loading tiles takes longer than multiplying them. Here a loaded part is multiplied by all parts
/// of the other operand it needs; a library's products of bfloat16, one for each pair of parts,
/// would load both anew each time (bench/README.md has the speeds).
class Bfloat16Sums : public Arithmetic {
 public:
  explicit Bfloat16Sums(int n_part, Bfloat16Kernel kernel = bfloat16_kernels().back())
      : n_part_(n_part), kernel_(kernel) {}

  bool has_instructions() const override { return kernel_ != Bfloat16Kernel::portable; }
  bool portable_gives_same_bits() const override { return false; }
  Index input_block() const override { return 32; }
  Index most_inputs() const override { return n_part_ == 1 ? 384 : 768; }
  void pack_column(const float* x, float scale, Index column, Operand& X) const override;
  void copy_column(const Operand& from, Index column, Index to_column, Operand& to) const override;
  void pack_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                    Operand& packed) const override;
  void multiply(OperandRange X, OperandRange W, Index n_in, blas::View Y, bool add) const override;

 private:
  std::size_t word_count(Index n_in, Index count) const override;
  std::size_t step_size() const;
  // Where the block of a column or output and of an input begins.
  std::size_t place(const Operand& operand, Index index, Index input) const;

  int n_part_;
  Bfloat16Kernel kernel_;
};

}  // namespace headscope
