#include "compute/activations.hpp"

#include "compute/ops.hpp"

namespace headscope {

void Activations::keep_projections(bool keep) {
  qkv_.resize(keep ? z_.size() : 0);
  mlp_pre_.resize(keep ? z_.size() : 0);
  n_mlp_pre_ = 0;
}

void Activations::observe_mlp_pre(Index layer, const Matrix& pre) {
  if (mlp_pre_.empty()) return;
  d_mlp_ = pre.n_rows;
  n_mlp_pre_ = layer + 1;
  keep(pre, mlp_pre_[layer]);
}

void Activations::observe_layer(const LayerView& view) {
  d_model_ = view.resid_pre.n_rows;
  n_token_ = view.n_token;
  n_layer_ = view.layer + 1;
  if (view.layer == 0) keep(view.resid_pre, resid_[0]);
  keep(view.resid_mid, resid_mid_[view.layer]);
  keep(view.z, z_[view.layer]);
  keep(view.resid_post, resid_[view.layer + 1]);
  if (!qkv_.empty()) keep(view.qkv, qkv_[view.layer]);
}

void Activations::keep(const Matrix& values, Buffer& buffer) {
  Matrix kept = buffer.matrix(values.n_rows, values.n_cols);
  copy(values, kept);
}

}  // namespace headscope
