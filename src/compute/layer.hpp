#pragma once

#include "compute/mlp.hpp"
#include "compute/self_attention.hpp"

namespace headscope {

/// The operations of one layer. Refers to the model, which must outlive it.
///
///   resid_mid = resid_pre + attention(ln_1(resid_pre))
///   resid_post = resid_mid + mlp(ln_2(resid_mid)), or of resid_pre where the residual is parallel
struct Layer {
  Layer(const Model& model, Index index)
      : ln_1(model.config, model.layers[index].ln_1_gain, model.layers[index].ln_1_bias),
        attention(model, index),
        ln_2(model.config, model.layers[index].ln_2_gain, model.layers[index].ln_2_bias),
        mlp(model.config, model.layers[index]) {}

  Norm ln_1;
  Attention attention;
  Norm ln_2;
  Mlp mlp;
};

/// ln_f.
inline Norm final_norm(const Model& model) {
  return {model.config, model.ln_f_gain, model.ln_f_bias};
}

/// @throws ShapeError if the model has attention weights only.
void check_complete(const Model& model);

/// @throws ShapeError if the batch or one of its tokens does not fit the model; gives both numbers.
void check_input(const Model& model, const SequenceBatch& batch);

/// resid = token embedding, plus position embedding where positions are learned, of a batch that
/// fits the model.
/// @param resid  d_model x n_column, overwritten.
void embed_into(const Model& model, const SequenceBatch& batch, blas::View resid);

/// normalized = ln_f of the columns that the predictions are made from, in their order.
/// @param normalized  d_model x number of predictions, overwritten.
/// @return            the predictions' targets.
TokenIds final_norm_of_predictions(const Model& model, blas::ConstView resid_final,
                                   std::span<const SequenceBatch::Prediction> predictions,
                                   blas::View normalized);

}  // namespace headscope
