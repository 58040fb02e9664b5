#pragma once

#include <optional>
#include <span>

#include "compute/buffer.hpp"
#include "compute/difference.hpp"
#include "compute/norm.hpp"
#include "compute/product/weight_product.hpp"
#include "compute/rotary.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// The attention of one layer, from its norm to the residual stream, in three steps:
///
///   project   qkv = W_QKV x + b_QKV, queries and keys turned where positions are rotary
///   mix       z = V softmax(K' Q scale) of each head, causal
///   write     output = W_O z + b_O
///
/// Heads of a group share keys and values. Biases may be empty. Cheap to make: it
/// refers to the model, which must outlive it.
class Attention {
 public:
  using Sequences = std::span<const SequenceBatch::Sequence>;

  Attention(const Model& model, Index layer)
      : config_(&model.config), weights_(&model.layers[layer]), layer_(layer) {}

  const LayerWeights& weights() const { return *weights_; }

  /// @param x          d_model x n_column.
  /// @param sequences  of the batch.
  /// @param qkv        d_qkv x n_column, overwritten.
  void project(blas::ConstView x, Sequences sequences, blas::View qkv,
               const Products& products) const;

  /// z of copies of a batch, side by side (causal_attention).
  /// @param qkv      d_qkv x (n_column n_copy).
  /// @param z        d_z x (n_column n_copy), overwritten.
  /// @param pattern  as that of causal_attention; or null.
  void mix(const Matrix& qkv, Sequences sequences, Index n_copy, blas::View z,
           const Products& products, Cube* pattern = nullptr) const;

  /// @param output  d_model x n_column, overwritten.
  void write(blas::ConstView z, blas::View output, const Products& products) const;

  /// Turns the queries and keys of qkv, of one or several copies of a batch, by their positions.
  void turn_by_position(Sequences sequences, Turn direction, blas::View qkv,
                        const Products& products) const;

  /// rows += W_QKV[first ..] x, turned if those are queries or keys: how the queries, keys or
  /// values of a head change with x.
  /// @param first  row of W_QKV, where a head begins.
  /// @param rows   d_head x n_column.
  void add_projection(Index first, blas::ConstView x, Sequences sequences, blas::View rows,
                      const Products& products) const;

  /// Backpropagates dz, the gradient of z.
  /// @param qkv   of the clean pass.
  /// @param dqkv  d_qkv x n_column, overwritten: gradient of W_QKV x + b_QKV.
  /// @param dx    d_model x n_column, overwritten: gradient of x.
  void gradient(const Matrix& qkv, Sequences sequences, blas::ConstView dz, blas::View dqkv,
                blas::View dx, const Products& products) const;
  /// dz = W_O' doutput. @param dz  d_z x n_column, overwritten.
  void z_gradient(blas::ConstView doutput, blas::View dz, const Products& products) const;

 private:
  friend class AttentionDifference;

  const ModelConfig* config_;
  const LayerWeights* weights_;
  Index layer_;
};

/// How z of a layer changes with what its norm reads: z(norm(clean + D)) - z(norm(clean)), and what
/// a change of z writes. Packs the weights and computes the clean activations once, for any number
/// of D. Keeps its memory for the next layer.
class AttentionDifference {
 public:
  /// @param clean        what the norm reads, d_model x n_column. It and the sequences must outlive
  ///                     the differences.
  void set(const Norm& norm, const Attention& attention, Attention::Sequences sequences,
           blas::ConstView clean, const DifferenceProducts& products);

  /// dz = z(norm(clean + D)) - clean z. Variants lie side by side.
  /// @param D        d_model x (n_column n_variant).
  /// @param clean_z  d_z x n_column.
  /// @param dz       d_z x (n_column n_variant), overwritten.
  void mix(blas::ConstView D, blas::ConstView clean_z, blas::View dz);
  /// output += W_O dz.
  void write(blas::ConstView dz, blas::View output) const;

  /// Bytes that it keeps for `n_clean` clean columns and `n_column` columns of D.
  static std::uint64_t bytes(const ModelConfig& config, Index n_clean, Index n_column,
                             Engine differences);

 private:
  std::optional<Norm> norm_;
  std::optional<Attention> attention_;
  std::optional<Products> mixing_;
  Attention::Sequences sequences_;
  blas::ConstView clean_;
  WeightProduct W_QKV_, W_O_;
  Buffer clean_normalized_, clean_qkv_;
  Buffer normalized_, qkv_;  // of the variants
};

}  // namespace headscope
