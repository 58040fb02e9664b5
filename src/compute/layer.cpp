#include "compute/layer.hpp"

#include <algorithm>

#include "compute/ops.hpp"
#include "compute/sequence_batch.hpp"
#include "headscope/error.hpp"

namespace headscope {

void check_complete(const Model& model) {
  if (model.is_complete()) return;
  throw ShapeError("model: expected token embedding and MLP weights, got attention weights only");
}

void check_input(const Model& model, const SequenceBatch& batch) {
  check_batch(batch, model.config);
  for (const TokenId id : batch.tokens) {
    if (id >= 0 && static_cast<Index>(id) < model.W_E.n_cols) continue;
    throw ShapeError("token: expected an id below " + std::to_string(model.W_E.n_cols) + ", got " +
                     std::to_string(id));
  }
}

void embed_into(const Model& model, const SequenceBatch& batch, blas::View resid) {
  for (const SequenceBatch::Sequence& sequence : batch.sequences) {
    for (Index t = 0; t < sequence.count; ++t) {
      const Index column = sequence.first + t;
      const float* const token = model.W_E.colptr(static_cast<Index>(batch.tokens[column]));
      std::transform(token, token + resid.n_row, model.W_P.colptr(sequence.prefix_count + t),
                     resid.data + column * resid.stride, [](float e, float p) { return e + p; });
    }
  }
}

void project_qkv(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View qkv, const Products& products) {
  layer_norm(resid, layer.ln_1_gain, layer.ln_1_bias, config.layer_norm_epsilon, normalized);
  products.multiply(layer.W_QKV, blas::Transpose::no, normalized, qkv);
  add_bias(qkv, layer.b_QKV);
}

void project_mlp(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View hidden, const Products& products) {
  layer_norm(resid, layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon, normalized);
  products.multiply(layer.W_in, blas::Transpose::no, normalized, hidden);
}

void add_mlp(const ModelConfig& config, const LayerWeights& layer, blas::ConstView pre,
             blas::View activated, blas::View resid, const Products& products) {
  add_bias_activate(pre, layer.b_in, config.activation, activated);
  add_bias(resid, layer.b_out);
  products.multiply(layer.W_out, blas::Transpose::no, activated, resid, true);
}

TokenIds final_norm_of_predictions(const Model& model, blas::ConstView resid_final,
                                   std::span<const SequenceBatch::Prediction> predictions,
                                   blas::View normalized) {
  TokenIds targets;
  for (const SequenceBatch::Prediction& prediction : predictions)
    targets.push_back(prediction.target);
  for_each_run(predictions, [&](Index first, Index column, Index count) {
    layer_norm(resid_final.cols(column, count), model.ln_f_gain, model.ln_f_bias,
               model.config.layer_norm_epsilon, normalized.cols(first, count));
  });
  return targets;
}

}  // namespace headscope
