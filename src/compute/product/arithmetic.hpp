#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/cache_line.hpp"
#include "headscope/blas.hpp"

namespace headscope {

/// One operand of a product, packed by an Arithmetic: columns of activations or outputs of weights,
/// each with `n_in` numbers. In the last block, missing outputs are zero, columns undefined.
struct Operand {
  Index n_in = 0, count = 0;
  CacheLines<std::uint16_t> words;
  CacheLines<float> scales;  // empty where the arithmetic has none
};

/// The columns or outputs of an operand from `first` on, and their inputs from `first_in` on.
struct OperandRange {
  const Operand& operand;
  Index first = 0;     // a multiple of Arithmetic::block
  Index first_in = 0;  // a multiple of Arithmetic::input_block()
};

/// How an engine packs the operands of a product and multiplies them. Each function runs on the
/// calling thread; different columns and blocks of outputs may be packed by several threads.
class Arithmetic {
 public:
  /// Columns and outputs are multiplied in blocks of this many.
  static constexpr Index block = 32;

  Arithmetic() = default;
  virtual ~Arithmetic() = default;
  Arithmetic(const Arithmetic&) = delete;
  Arithmetic& operator=(const Arithmetic&) = delete;

  /// Makes room for an operand, and keeps the memory for smaller ones. Contents become undefined.
  void set_size(Index n_in, Index count, Operand& operand) const {
    operand.n_in = n_in;
    operand.count = count;
    grow(word_count(n_in, count), operand.words);
    grow(scale_count(n_in, count), operand.scales);
  }
  /// Memory of an operand.
  std::uint64_t bytes(Index n_in, Index count) const {
    return word_count(n_in, count) * sizeof(std::uint16_t) +
           scale_count(n_in, count) * sizeof(float);
  }

  /// Whether this processor has instructions for it; else its portable kernel is used.
  virtual bool has_instructions() const = 0;
  /// Whether the portable kernel gives the same numbers to the last bit.
  virtual bool portable_gives_same_bits() const = 0;

  /// Inputs are packed in blocks of this many.
  virtual Index input_block() const = 0;
  /// The most inputs that are multiplied before sums are written. Fewer keep the columns in the
  /// first cache, more write sums less often.
  virtual Index most_inputs() const = 0;
  /// Packs one column, times `scale`. @param x  X.n_in values.
  virtual void pack_column(const float* x, float scale, Index column, Operand& X) const = 0;
  /// Copies a packed column of as many inputs.
  virtual void copy_column(const Operand& from, Index column, Index to_column,
                           Operand& to) const = 0;
  /// Packs `block` outputs, or as many as there are, from number `first` on, a multiple of `block`.
  /// @param W  outputs x n_in, or its transpose, of these outputs.
  virtual void pack_outputs(blas::ConstView W, blas::Transpose transpose, Index first,
                            Operand& packed) const = 0;
  /// Y = W X, or Y += W X, for Y.n_col columns, Y.n_row outputs and `n_in` inputs.
  virtual void multiply(OperandRange X, OperandRange W, Index n_in, blas::View Y,
                        bool add) const = 0;

 protected:
  /// `n` rounded up to a multiple of `of`.
  static Index rounded_up(Index n, Index of) { return (n + of - 1) / of * of; }

  /// Fills a block of Y that is not whole.
  /// @param fill  fills a whole block, `block` numbers a column, which holds that of Y if `add`.
  template <typename Fill>
  static void fill_part(blas::View Y, bool add, const Fill& fill) {
    alignas(cache_line) std::array<float, block * block> whole_block{};
    for (Index c = 0; c < Y.n_col && add; ++c) {
      std::copy_n(Y.column(c), Y.n_row, whole_block.data() + c * block);
    }
    fill(whole_block.data());
    for (Index c = 0; c < Y.n_col; ++c) {
      std::copy_n(whole_block.data() + c * block, Y.n_row, Y.column(c));
    }
  }

 private:
  virtual std::size_t word_count(Index n_in, Index count) const = 0;
  virtual std::size_t scale_count(Index /*n_in*/, Index /*count*/) const { return 0; }
};

}  // namespace headscope
