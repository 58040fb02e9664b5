#pragma once

#include <span>

#include "compute/product/weight_product.hpp"
#include "headscope/blas.hpp"
#include "headscope/config.hpp"

/// Nonlinear steps as f(clean + difference) - f(clean). Several variants of one document lie side
/// by side: column c of the differences belongs to column c % n_token of the clean activations.
namespace headscope {

/// Variants that go through a step of a layer together, if the step keeps values of their columns:
/// wide enough for matrix products at full speed, narrow enough that the step's memory does not
/// grow with the number of variants.
Index variants_per_step(Index n_token);

/// What multiplies in a pass of differences.
struct DifferenceProducts {
  Products differences;  ///< weights by differences
  Products passes;       ///< clean values
  Products attention;    ///< queries, keys, values and patterns of variants; also the MLP's clean
                         ///< hidden units before the activation, whose errors scale differences
  Products logits;       ///< the unembedding by differences
  /// Whether `passes` computes losses of a large second order anew: where `logits` is less exact
  /// than the losses are to be.
  bool is_guarded = false;
};

/// @throws ShapeError unless `difference` has the rows of `clean` and whole variants of its
/// columns.
void check_variants(blas::ConstView clean, blas::ConstView difference);

/// Y[:, i] = X[:, columns[i]]. Y may begin where X begins or before.
/// @param columns  ascending.
void copy_columns(blas::ConstView X, std::span<const Index> columns, blas::View Y);

/// D += sign * X.
/// @param X  n x n_token, clean.
/// @param D  n x (n_token n_variant).
void add_clean(blas::ConstView X, float sign, blas::View D);

}  // namespace headscope
