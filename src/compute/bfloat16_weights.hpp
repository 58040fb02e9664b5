#pragma once

#include <optional>

#include "compute/cache_line.hpp"
#include "compute/part_product.hpp"
#include "compute/rounded.hpp"
#include "headscope/blas.hpp"

namespace headscope {

/// Weights as one bfloat16, or as the sum of two, ready for products.
class Bfloat16Weights {
 public:
  /// Work space of pack().
  struct Scratch {
    CacheLines<Bfloat16> high, low;
  };

  /// @param split  into two; else rounded to one.
  Bfloat16Weights(Index n_in, Index n_out, bool split, bool emulated);

  bool is_split() const { return low_.has_value(); }

  /// Takes the weights, which may be replaced later. @param W  out x in, or its transpose.
  void pack(blas::ConstView W, bool transposed, Scratch& scratch);

  /// sums = X W, or sums += X W, on the calling thread: one product or three.
  /// @param high, low  the parts of n_row columns of activations, in x n_row; low only if split.
  /// @param sums       out x n_row. All have room for padded_rows(n_row) columns.
  void multiply(const Bfloat16* high, const Bfloat16* low, Index n_row, bool add,
                float* sums) const;

 private:
  using Product = PartProduct<Bfloat16, float>;
  Product high_;
  std::optional<Product> low_;
};

/// Y = sums, or Y += sums. @param sums  the columns of Y, one after the other.
void write_sums(const float* sums, bool add, blas::View Y);

}  // namespace headscope
