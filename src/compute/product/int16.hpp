#pragma once

#include <vector>

#include "compute/product/arithmetic.hpp"

namespace headscope {

/// The instruction sets that multiply 16-bit integers. All give the same numbers.
enum class Int16Kernel {
  portable,
  avx2,         ///< `vpmaddwd`
  avx_vnni,     ///< `vpdpwssd`, 256 bits
  avx512_vnni,  ///< `vpdpwssd`, 512 bits
  neon,         ///< `smlal`
};
/// Those that this processor and operating system have, best last.
const std::vector<Int16Kernel>& int16_kernels();

/// Products of 16-bit integers with 32-bit sums.
///
/// The inputs of a column are scaled to Euclidean norm 32,700, 256 at a time, and rounded; those of
/// an output to norm 65,500, or less where its largest weight would exceed 32,767. By Cauchy and
/// Schwarz no sum of their products exceeds 2^31, whatever stands out in either, so that the whole
/// range is used and outliers cost nothing. For normally distributed operands the root mean square
/// error of a product is 1.6e-4 of |W| |X| / sqrt(number of inputs).
///
/// An infinite or undefined number makes its column or output NaN.
class Int16Products : public Arithmetic {
 public:
  explicit Int16Products(Int16Kernel kernel = int16_kernels().back()) : kernel_(kernel) {}

  bool has_instructions() const override { return kernel_ != Int16Kernel::portable; }
  bool portable_gives_same_bits() const override { return true; }
  Index input_block() const override;
  Index most_inputs() const override { return 768; }
  void pack_column(const float* x, float scale, Index column, Operand& X) const override;
  void copy_column(const Operand& from, Index column, Index to_column, Operand& to) const override;
  void pack_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                    Operand& packed) const override;
  void multiply(OperandRange X, OperandRange W, Index n_in, blas::View Y, bool add) const override;

 private:
  std::size_t word_count(Index n_in, Index count) const override;
  std::size_t scale_count(Index n_in, Index count) const override;

  Int16Kernel kernel_;
};

}  // namespace headscope
