#include "compute/activations.hpp"

#include "compute/ops.hpp"

namespace headscope {

void Activations::keep_projections(bool keep) {
  qkv_.resize(keep ? z_.size() : 0);
  mlp_pre_.resize(keep ? z_.size() : 0);
  n_projected_ = 0;
}

std::optional<ProjectionMemory> Activations::projection_memory(Index layer, Index n_token) {
  if (qkv_.empty()) return std::nullopt;
  n_projected_ = layer + 1;
  return ProjectionMemory{qkv_[layer].matrix(config_.d_qkv(), n_token).memptr(),
                          mlp_pre_[layer].matrix(config_.d_in(), n_token).memptr()};
}

void Activations::observe_layer(const LayerView& view) {
  n_token_ = view.n_token;
  n_layer_ = view.layer + 1;
  if (view.layer == 0) keep(view.resid_pre, resid_[0]);
  keep(view.resid_mid, resid_mid_[view.layer]);
  keep(view.z, z_[view.layer]);
  keep(view.resid_post, resid_[view.layer + 1]);
}

void Activations::keep(const Matrix& values, Buffer& buffer) {
  Matrix kept = buffer.matrix(values.n_rows, values.n_cols);
  copy(values, kept);
}

}  // namespace headscope
