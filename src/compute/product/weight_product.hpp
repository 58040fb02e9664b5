#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "compute/product/engines.hpp"
#include "compute/product/scratch.hpp"

namespace headscope {

/// Multiplies matrices by one engine, in memory that it reuses.
class Products {
 public:
  Products(Engine engine, Scratch& scratch)
      : arithmetic_(entry_of(engine).arithmetic), scratch_(&scratch) {}

  /// The products to use for `n_column` columns of activations: OpenBLAS's if the columns are too
  /// few to repay packing the weights.
  Products for_columns(Index n_column) const;

  /// Whether operands are packed before they are multiplied. Packing is repaid by using an operand
  /// several times.
  bool packs() const { return arithmetic_ != nullptr; }

  /// Y = W X, or Y += W X, split over the OpenMP threads, for weights that are used once.
  /// @param W  out x in, or its transpose.
  /// @throws ShapeError if the shapes do not fit.
  void multiply(blas::ConstView W, blas::Transpose transpose, blas::ConstView X, blas::View Y,
                bool add = false) const;

  Scratch& scratch() const { return *scratch_; }

 private:
  friend class PackedColumns;
  friend class PackedWeights;
  friend class WeightProduct;
  const Arithmetic* arithmetic_;  // null for OpenBLAS
  Scratch* scratch_;
};

/// Bytes of packed activations or weights: `count` columns or outputs of n_in numbers.
std::uint64_t packed_bytes(Index n_in, Index count, Engine engine);

/// Activations packed for an engine, for products with several weights.
class PackedColumns {
 public:
  PackedColumns() = default;
  PackedColumns(blas::ConstView X, const Products& products) { set(X, products); }
  /// Replaces the columns held before and reuses their memory. Packs over the OpenMP threads if the
  /// columns are many and no parallel region is running.
  /// @param X      must outlive the use of this object.
  /// @param scale  X is multiplied by it.
  void set(blas::ConstView X, const Products& products, float scale = 1);

  /// Makes room for columns that come one by one, for an engine that packs. Columns are undefined
  /// until they are set.
  void set_size(Index n_row, Index n_col, const Products& products);
  /// Packs one column on the calling thread. @param x  n_row values.
  void set_column(Index column, const float* x);
  /// Some columns of others, which are packed. @param columns  in any order.
  void take(const PackedColumns& from, std::span<const TokenId> columns);

  /// Y = W X, or Y += W X, on the calling thread. Packs the weights a few outputs at a time.
  /// @param W  out x in, or its transpose.
  /// @throws ShapeError if the shapes do not fit.
  void multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                       bool add = false) const;

 private:
  friend class PackedWeights;
  friend class WeightProduct;
  blas::ConstView X_;
  std::optional<Products> products_;
  float scale_ = 1;
  Operand packed_;
};

/// Weights packed for an engine on the calling thread, for products with a leading block of them.
/// In attention a head's keys and values are the weights; queries and patterns are the activations.
class PackedWeights {
 public:
  /// Replaces the weights held before and reuses their memory.
  /// @param W  out x in, or its transpose. Must outlive the use of this object.
  void set(blas::ConstView W, blas::Transpose transpose, const Products& products);

  /// Y = W X, or Y += W X, for the first Y.n_row outputs and the first inputs, as many as X has
  /// rows.
  /// @param X  packed for the engine of these weights.
  /// @throws ShapeError if there are fewer, or X and Y differ in columns.
  void multiply(const PackedColumns& X, blas::View Y, bool add = false) const;

 private:
  blas::ConstView W_;
  blas::Transpose transpose_ = blas::Transpose::no;
  const Arithmetic* arithmetic_ = nullptr;
  Operand packed_;
};

/// Weights packed for an engine, for products with several activations: Y = W X.
class WeightProduct {
 public:
  /// The most columns that a thread multiplies at once.
  static constexpr Index most_columns = 256;

  /// Replaces the weights held before and reuses their memory. Packs over the OpenMP threads.
  /// @param W  out x in, or its transpose. Must outlive the use of this object.
  void set(blas::ConstView W, blas::Transpose transpose, const Products& products);

  /// Y = W X, or Y += W X, split over the OpenMP threads.
  /// @throws ShapeError if the shapes do not fit.
  void multiply(blas::ConstView X, blas::View Y, bool add = false) const;
  /// Y = W X on the calling thread, for the Y.n_col columns of X from `first` on and the Y.n_row
  /// outputs from `first_output` on.
  /// @param X      packed for the engine of these weights.
  /// @param first  a multiple of Arithmetic::block, as is `first_output`.
  void multiply_serial(const PackedColumns& X, Index first, blas::View Y,
                       Index first_output = 0) const;

  /// Whether `multiply` uses packed weights for this many columns.
  bool packs_for(Index n_column) const { return products_->for_columns(n_column).packs(); }
  /// Columns that `multiply` gives a thread at a time, of n_column.
  static Index columns_at_once(Index n_column);
  /// Calls visit(first, count) for the blocks of inputs that packed weights are multiplied by.
  template <typename Visit>
  void for_input_blocks(const Visit& visit) const {
    const Index n_in = transpose_ == blas::Transpose::yes ? W_.n_row : W_.n_col;
    for (Index first = 0; first < n_in; first += blocks_.front().n_in) {
      visit(first, std::min(blocks_.front().n_in, n_in - first));
    }
  }
  /// Y = W X, or Y += W X, on the calling thread, over one block of inputs.
  /// @param first_input  where the block begins.
  /// @param X            these inputs, packed for the engine of these weights.
  void multiply_inputs_serial(Index first_input, const PackedColumns& X, blas::View Y,
                              bool add) const;

  /// Bytes that `multiply` keeps for each thread.
  static std::uint64_t thread_bytes(Engine engine);

 private:
  blas::ConstView W_;
  blas::Transpose transpose_ = blas::Transpose::no;
  std::optional<Products> products_;
  std::vector<Operand> blocks_;  // of inputs, with all outputs; may be more than are in use
};

}  // namespace headscope
