#pragma once

#include "compute/buffer.hpp"
#include "compute/difference.hpp"
#include "compute/norm.hpp"
#include "compute/product/weight_product.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// The MLP of one layer, from its norm to the residual stream:
///
///   pre = W_in x,   hidden = activation(pre + b_in),   output = W_out hidden + b_out
///
/// In a gated MLP the rows of pre are gate | up, and hidden = activation(gate) * up, each with its
/// part of b_in. Biases may be empty. Cheap to make: it refers to config and weights,
/// which must outlive it.
class Mlp {
 public:
  Mlp(const ModelConfig& config, const LayerWeights& weights)
      : config_(&config), weights_(&weights) {}

  const LayerWeights& weights() const { return *weights_; }

  /// pre = W_in x. @param x  d_model x n. @param pre  d_in x n, overwritten.
  void project(blas::ConstView x, blas::View pre, const Products& products) const;

  /// stream += MLP(x), with both steps between left in `pre` and `hidden`.
  /// @param pre     d_in x n, overwritten.
  /// @param hidden  d_mlp x n, overwritten; may be the first rows of `pre`.
  /// @param stream  d_model x n.
  void apply(blas::ConstView x, blas::View pre, blas::View hidden, blas::View stream,
             const Products& products) const;

  /// output = MLP(x) without b_out: what the MLP writes as a node of the model.
  /// @param output  d_model x n, overwritten.
  void write(blas::ConstView x, blas::View pre, blas::View hidden, blas::View output,
             const Products& products) const;

  /// Backpropagates doutput, the gradient of the MLP's output.
  /// @param pre   of the clean pass, before bias and activation.
  /// @param dpre  d_in x n, overwritten: gradient of pre.
  /// @param dx    d_model x n, overwritten: gradient of x.
  void gradient(blas::ConstView pre, blas::ConstView doutput, blas::View dpre, blas::View dx,
                const Products& products) const;

 private:
  friend class MlpDifference;
  void activate(blas::ConstView pre, blas::View hidden) const;

  const ModelConfig* config_;
  const LayerWeights* weights_;
};

/// How the output of a layer's norm and MLP changes with what they read:
/// mlp(norm(clean + D)) - mlp(norm(clean)). Packs the weights and computes the clean activations
/// once, for any number of D. Keeps its memory for the next layer.
class MlpDifference {
 public:
  /// @param clean        what the norm reads, d_model x n_column. Must outlive the differences.
  void set(const Norm& norm, const Mlp& mlp, blas::ConstView clean,
           const DifferenceProducts& products);

  /// output = the difference, or output += it. Variants lie side by side.
  /// @param D       d_model x (n_column n_variant).
  /// @param output  as D; may be D.
  void compute(blas::ConstView D, blas::View output, bool add);

  /// Bytes for `n_clean` clean columns, and for `n_column` columns of variants where OpenBLAS takes
  /// one step after the other; with those that the threads keep in the products' scratch.
  static std::uint64_t bytes(const ModelConfig& config, Index n_clean, Index n_column, int n_thread,
                             Engine differences);

 private:
  struct ThreadMemory;

  void compute_by_steps(blas::ConstView D, blas::View output, bool add);
  void compute_by_blocks(blas::ConstView D, blas::View output, bool add) const;
  void activate(Index first_unit, Index token, blas::View change) const;

  std::optional<Norm> norm_;
  std::optional<Mlp> mlp_;
  std::optional<Products> products_;
  blas::ConstView clean_, pre_, activated_;
  WeightProduct W_in_, W_up_, W_out_;  // W_in_ of the gate, or of all hidden units
  // Clean: the normalized stream; pre with its bias; activation of the gate, or of all of pre.
  Buffer clean_normalized_, clean_pre_, clean_activated_;
  Buffer normalized_, hidden_;  // of the variants, in compute_by_steps
};

}  // namespace headscope
