#include "compute/layer.hpp"

#include "compute/pack.hpp"
#include "compute/weight_product.hpp"
#include "headscope/ops.hpp"

namespace headscope {

void project_qkv(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View qkv, Engine engine) {
  layer_norm(resid, layer.ln_1_gain, layer.ln_1_bias, config.layer_norm_epsilon, normalized);
  multiply_weights(engine, layer.W_QKV, blas::Transpose::no, normalized, qkv);
  add_bias(qkv, layer.b_QKV);
}

void add_mlp(const ModelConfig& config, const LayerWeights& layer, blas::View resid,
             blas::View normalized, blas::View hidden, Engine engine) {
  layer_norm(resid, layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon, normalized);
  multiply_weights(engine, layer.W_in, blas::Transpose::no, normalized, hidden);
  add_bias_activate(hidden, layer.b_in, config.activation);
  add_bias(resid, layer.b_out);
  multiply_weights(engine, layer.W_out, blas::Transpose::no, hidden, resid, true);
}

TokenIds final_norm_of_predictions(const Model& model, blas::ConstView resid_final,
                                   std::span<const Pack::Prediction> predictions,
                                   blas::View normalized) {
  TokenIds targets;
  for (const Pack::Prediction& prediction : predictions) targets.push_back(prediction.target);
  for_each_run(predictions, [&](Index first, Index column, Index count) {
    layer_norm(resid_final.cols(column, count), model.ln_f_gain, model.ln_f_bias,
               model.config.layer_norm_epsilon, normalized.cols(first, count));
  });
  return targets;
}

}  // namespace headscope
