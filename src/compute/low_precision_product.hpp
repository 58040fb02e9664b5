#pragma once

#include <memory>

#include "compute/rounded.hpp"

namespace headscope {

constexpr Index most_low_precision_rows = 256;
/// Rows that a product of `n_row` rows writes: code is generated for few numbers of rows.
Index padded_rows(Index n_row);

/// How the weights of a product lie in memory.
enum class WeightOrder {
  by_input,   ///< all outputs of an input side by side
  by_output,  ///< all inputs of an output side by side
};

/// Products of narrow numbers through oneDNN: Bfloat16 summed in float32, or int8 in int32. The
/// only place that calls oneDNN.
template <typename Part, typename Sum>
class LowPrecisionProduct {
 public:
  /// Whether this build has oneDNN and the processor the instructions.
  static bool is_supported();

  /// @param most_rows  at most most_low_precision_rows.
  LowPrecisionProduct(Index n_in, Index n_out, Index most_rows);
  ~LowPrecisionProduct();
  LowPrecisionProduct(LowPrecisionProduct&&) noexcept;

  /// Takes the weights, in x out, into the layout of the instructions, on the calling thread. They
  /// may be replaced, but not while a thread multiplies.
  void pack(const Part* W, WeightOrder order);

  /// sums = X W, or sums += X W, on the calling thread; any number of threads at the same time.
  /// @param X      n_row x in, row by row; at most most_rows. Both have room for
  ///               padded_rows(n_row) rows; those beyond n_row of sums are undefined.
  /// @param sums   n_row x out.
  void multiply(const Part* X, Index n_row, bool add, Sum* sums) const;

 private:
  struct Shape;
  struct Weights;
  const Shape& shape_;
  std::unique_ptr<Weights> weights_;
};

extern template class LowPrecisionProduct<Bfloat16, float>;
extern template class LowPrecisionProduct<std::int8_t, std::int32_t>;

}  // namespace headscope
