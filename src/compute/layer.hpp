#pragma once

#include "headscope/blas.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// First half of a layer's attention: normalized = ln_1(resid), qkv = W_QKV normalized + b_QKV.
void project_qkv(const ModelConfig& config, const LayerWeights& layer, blas::ConstView resid,
                 blas::View normalized, blas::View qkv);

/// The layer's MLP, in place: resid += W_out activation(W_in ln_2(resid) + b_in) + b_out.
/// @param normalized  d_model x n, scratch; on return ln_2(resid).
/// @param hidden      d_mlp x n, scratch; on return the activations.
void add_mlp(const ModelConfig& config, const LayerWeights& layer, blas::View resid,
             blas::View normalized, blas::View hidden);

}  // namespace headscope
