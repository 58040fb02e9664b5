#include "compute/layer.hpp"

#include "headscope/ops.hpp"

namespace headscope {

void project_qkv(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View qkv) {
  layer_norm(resid, layer.ln_1_gain, layer.ln_1_bias, config.layer_norm_epsilon, normalized);
  blas::multiply(layer.W_QKV, normalized, qkv);
  add_bias(qkv, layer.b_QKV);
}

void add_mlp(const ModelConfig& config, const LayerWeights& layer, blas::View resid,
             blas::View normalized, blas::View hidden) {
  layer_norm(resid, layer.ln_2_gain, layer.ln_2_bias, config.layer_norm_epsilon, normalized);
  blas::multiply(layer.W_in, normalized, hidden);
  add_bias_activate(hidden, layer.b_in, config.activation);
  add_bias(resid, layer.b_out);
  blas::multiply(layer.W_out, blas::Transpose::no, hidden, blas::Transpose::no, resid, 1, 1);
}

}  // namespace headscope
