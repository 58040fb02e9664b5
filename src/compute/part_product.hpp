#pragma once

#include <algorithm>
#include <memory>

#include "compute/low_precision_product.hpp"
#include "headscope/blas.hpp"

namespace headscope {

/// One part of some weights, to be multiplied by one part of the activations: natively, or by the
/// same numbers in float32.
template <typename Part, typename Sum>
class PartProduct {
 public:
  PartProduct(Index n_in, Index n_out, Index most_columns, bool emulated) {
    if (emulated || !LowPrecisionProduct<Part, Sum>::is_supported()) {
      emulated_.set_size(n_out, n_in);
    } else {
      native_ = std::make_unique<LowPrecisionProduct<Part, Sum>>(n_in, n_out, most_columns);
    }
  }

  /// Takes the weights, which may be replaced later.
  void pack(const Part* W, WeightOrder order) {
    if (native_) {
      native_->pack(W, order);
    } else if (order == WeightOrder::by_input) {
      std::transform(W, W + emulated_.n_elem, emulated_.begin(), [](Part w) { return widen(w); });
    } else {
      for (Index o = 0; o < emulated_.n_rows; ++o) {
        for (Index i = 0; i < emulated_.n_cols; ++i) {
          emulated_(o, i) = widen(W[o * emulated_.n_cols + i]);
        }
      }
    }
  }

  /// sums = X W, or sums += X W, for n_row columns of activations. Both have room for
  /// padded_rows(n_row) columns.
  void multiply(const Part* X, Index n_row, bool add, Sum* sums) const {
    if (native_) {
      native_->multiply(X, n_row, add, sums);
      return;
    }
    Matrix x(emulated_.n_cols, n_row), y(emulated_.n_rows, n_row);
    std::transform(X, X + x.n_elem, x.begin(), [](Part value) { return widen(value); });
    blas::multiply_serial(emulated_, blas::Transpose::no, x, blas::Transpose::no, y);
    for (Index i = 0; i < y.n_elem; ++i) {
      sums[i] = static_cast<Sum>(y(i)) + (add ? sums[i] : Sum{0});
    }
  }

 private:
  std::unique_ptr<LowPrecisionProduct<Part, Sum>> native_;
  Matrix emulated_;  // out x in
};

}  // namespace headscope
