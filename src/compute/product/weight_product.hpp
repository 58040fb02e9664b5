#pragma once

#include <vector>

#include "compute/product/engines.hpp"

namespace headscope {

/// The engine for products of so many columns: few do not repay the splitting of the weights, or of
/// keys and values.
Engine product_engine(Engine engine, Index n_column);

/// Whether an engine packs operands before it multiplies them, which repays with their use.
bool is_packed(Engine engine);

/// Activations made ready for an engine, for products with several weights.
class SplitColumns {
 public:
  SplitColumns() = default;
  SplitColumns(blas::ConstView X, Engine engine) { set(X, engine); }
  /// Splits the columns, over the OpenMP threads if these are many and the threads not at work.
  /// Forgets those before, but keeps their memory.
  /// @param X      must outlive its use.
  /// @param scale  X is multiplied by it.
  void set(blas::ConstView X, Engine engine, float scale = 1);

  Engine engine() const { return engine_; }

  /// Y = W X, or Y += W X, on the calling thread. The weights are split a few outputs at a time
  /// while these are used.
  /// @param W  out x in, or its transpose.
  /// @throws ShapeError if the shapes do not fit.
  void multiply_serial(blas::ConstView W, blas::Transpose transpose, blas::View Y,
                       bool add = false) const;

  static std::uint64_t bytes(Index n_in, Index n_column, Engine engine);

 private:
  friend class SplitWeights;
  friend class WeightProduct;
  blas::ConstView X_;
  Engine engine_ = Engine::float32;
  float scale_ = 1;
  const Arithmetic* arithmetic_ = nullptr;
  Operand packed_;
};

/// Weights made ready for an engine on the calling thread, for products with their first outputs
/// and inputs. A head's keys and values count as weights, which queries and patterns meet.
class SplitWeights {
 public:
  /// Forgets those before, but keeps their memory.
  /// @param W  out x in, or its transpose. Must outlive its use.
  void set(blas::ConstView W, blas::Transpose transpose, Engine engine);

  /// Y = W X, or Y += W X, for the first Y.n_row outputs and the first inputs, as many as X has
  /// rows.
  /// @param X  split for the engine of these weights.
  /// @throws ShapeError if there are fewer, or X and Y differ in columns.
  void multiply(const SplitColumns& X, blas::View Y, bool add = false) const;

  static std::uint64_t bytes(Index n_in, Index n_out, Engine engine);

 private:
  blas::ConstView W_;
  blas::Transpose transpose_ = blas::Transpose::no;
  const Arithmetic* arithmetic_ = nullptr;
  Operand packed_;
};

/// Weights made ready for an engine, for products with several activations: Y = W X.
class WeightProduct {
 public:
  /// Splits the outputs over the OpenMP threads, and forgets those before, but keeps their memory.
  /// @param W  out x in, or its transpose. Must outlive its use.
  void set(blas::ConstView W, blas::Transpose transpose, Engine engine);

  /// Y = W X, or Y += W X, split over the OpenMP threads.
  /// @throws ShapeError if the shapes do not fit.
  void multiply(blas::ConstView X, blas::View Y, bool add = false) const;
  /// Y = W X on the calling thread, for the Y.n_col columns of X from `first` on.
  /// @param X      split for the engine of these weights.
  /// @param first  a multiple of Arithmetic::block.
  void multiply_serial(const SplitColumns& X, Index first, blas::View Y) const;

  static std::uint64_t bytes(Index n_in, Index n_out, Engine engine);
  /// Bytes of the work space that each thread keeps.
  static std::uint64_t thread_bytes(Engine engine);

 private:
  blas::ConstView W_;
  blas::Transpose transpose_ = blas::Transpose::no;
  Engine engine_ = Engine::float32;
  std::vector<Operand> pieces_;  // some inputs of all outputs each; may be more than are in use
};

/// Y = W X, or Y += W X, split over the OpenMP threads, for weights that are used once.
/// @param W  out x in, or its transpose.
/// @throws ShapeError if the shapes do not fit.
void multiply_weights(Engine engine, blas::ConstView W, blas::Transpose transpose,
                      blas::ConstView X, blas::View Y, bool add = false);

}  // namespace headscope
