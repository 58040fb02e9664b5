#pragma once

#include "compute/product/weight_product.hpp"
#include "headscope/model.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// @throws ShapeError if the model has attention weights only.
void check_complete(const Model& model);

/// @throws ShapeError if the batch or one of its tokens does not fit the model; gives both numbers.
void check_input(const Model& model, const SequenceBatch& batch);

/// resid = token plus position embedding of a batch that fits the model.
/// @param resid  d_model x n_column, overwritten.
void embed_into(const Model& model, const SequenceBatch& batch, blas::View resid);

/// First half of a layer's attention: normalized = ln_1(resid), qkv = W_QKV normalized + b_QKV.
void project_qkv(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View qkv, const Products& products);

/// First half of a layer's MLP: normalized = ln_2(resid), hidden = W_in normalized.
void project_mlp(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View hidden, const Products& products);

/// Second half: activated = activation(pre + b_in), resid += W_out activated + b_out.
/// @param pre        d_mlp x n.
/// @param activated  d_mlp x n, overwritten; may be `pre`.
void add_mlp(const ModelConfig& config, const LayerWeights& layer, blas::ConstView pre,
             blas::View activated, blas::View resid, const Products& products);

/// normalized = ln_f of the columns that the predictions are made from, in their order.
/// @param normalized  d_model x number of predictions, overwritten.
/// @return            the predictions' targets.
TokenIds final_norm_of_predictions(const Model& model, blas::ConstView resid_final,
                                   std::span<const SequenceBatch::Prediction> predictions,
                                   blas::View normalized);

}  // namespace headscope
