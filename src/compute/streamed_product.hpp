#pragma once

#include "compute/weight_product.hpp"

namespace headscope {

/// Activations for products with weights that are not kept packed. They must outlive it.
class StreamedColumns {
 public:
  /// Splits the columns over the OpenMP threads.
  StreamedColumns(blas::ConstView X, Engine engine);

  /// Y = W X, or Y += W X, split over the OpenMP threads. @param W  out x in, or its transpose.
  void multiply(blas::ConstView W, blas::Transpose transpose, blas::View Y, bool add = false) const;
  /// The same on the calling thread alone.
  void multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                       bool add = false) const;

  /// Bytes of a product's work space.
  static std::uint64_t bytes(Index n_row, Index n_col, int n_thread, Engine engine);

 private:
  bool is_split() const { return !X_.bfloat16_high_.empty(); }
  // `count` outputs from `first` on.
  void multiply_outputs(blas::ConstView W, blas::Transpose transpose, Index first, Index count,
                        blas::View Y, bool add) const;

  SplitColumns X_;
};

/// Y = W X, or Y += W X, for weights that are not kept packed: by three bfloat16 products, the
/// weights packed a few outputs at a time while these are used, which takes a tenth of the time of
/// the products of 1024 columns. Few columns, and Engine::float32, go by OpenBLAS.
/// @param engine  float32 or bfloat16_three.
/// @param W       out x in, or its transpose.
/// @throws ShapeError if the shapes do not fit.
void multiply_streamed(Engine engine, blas::ConstView W, blas::Transpose transpose,
                       blas::ConstView X, blas::View Y, bool add = false);

}  // namespace headscope
