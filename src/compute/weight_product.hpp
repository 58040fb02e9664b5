#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/cache_line.hpp"
#include "compute/rounded.hpp"
#include "headscope/blas.hpp"
#include "headscope/precision.hpp"

namespace headscope {

/// Activations in the parts that an engine multiplies, for several products of the same columns.
class SplitColumns {
 public:
  /// Splits the columns over the OpenMP threads. @param X  Engine::float32 keeps no copy: X must
  /// outlive this.
  SplitColumns(blas::ConstView X, Engine engine);
  static std::uint64_t bytes(Index n_row, Index n_col, Engine engine);

  /// One column as the products see it: the sum of its parts. @param x  n_row values, overwritten.
  void join(Index column, float* x) const;

 private:
  friend class WeightProduct;
  friend class StreamedColumns;
  blas::ConstView X_;
  CacheLines<Bfloat16> bfloat16_high_, bfloat16_low_;
  CacheLines<std::int8_t> int8_high_, int8_low_;
  std::vector<float> scales_;  // of int8, by column
};

/// @throws ShapeError unless W, or its transpose, times X has the shape of Y.
void check_product(blas::ConstView W, blas::Transpose transpose, blas::ConstView X,
                   blas::ConstView Y);

/// Weights made ready to multiply activations: Y = W X. Any number of threads may multiply at the
/// same time.
class WeightProduct {
 public:
  /// `emulated` computes the same numbers, up to rounding, from rounded operands in float32; it
  /// needs no instructions of the processor. `automatic` emulates only where those, or oneDNN in
  /// this build, are missing.
  enum class Means { automatic, emulated };

  /// @param W  out x in, or its transpose. Engine::float32 keeps no copy: W must outlive this.
  WeightProduct(blas::ConstView W, blas::Transpose transpose, Engine engine,
                Means means = Means::automatic);
  ~WeightProduct();
  WeightProduct(WeightProduct&&) noexcept;

  /// Y = W X, or Y += W X, split over the OpenMP threads.
  /// @param X  in x n.
  /// @param Y  out x n.
  void multiply(blas::ConstView X, blas::View Y, bool add = false) const;
  /// The same on the calling thread alone.
  void multiply_serial(blas::ConstView X, blas::View Y, bool add = false) const;
  /// The same for `Y.n_col` columns of X from `first` on. @param X  split for this engine.
  void multiply_serial(const SplitColumns& X, Index first, blas::View Y, bool add = false) const;

  /// Bytes that `n_weight` weights take in addition to the float32 ones.
  static std::uint64_t bytes(std::uint64_t n_weight, Engine engine);
  /// Bytes of one thread's work space for products of at most n_out x n_in.
  static std::uint64_t thread_bytes(Index n_out, Index n_in, Engine engine);

 private:
  class Packed;
  class PackedBfloat16;
  class PackedInt8;

  blas::ConstView W_;
  blas::Transpose transpose_;
  std::unique_ptr<const Packed> packed_;  // none for float32
};

}  // namespace headscope
