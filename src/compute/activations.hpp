#pragma once

#include <algorithm>
#include <vector>

#include "compute/buffer.hpp"
#include "headscope/forward.hpp"

namespace headscope {

/// Copies of each layer's `resid_pre`, `resid_mid` and `z` in a forward pass: what the backward
/// pass needs and cannot cheaply recompute.
class Activations : public LayerObserver {
 public:
  explicit Activations(Index n_layer) : resid_pre_(n_layer), resid_mid_(n_layer), z_(n_layer) {}

  void observe_layer(const LayerView& view) override {
    keep(view.resid_pre, resid_pre_[view.layer]);
    keep(view.resid_mid, resid_mid_[view.layer]);
    keep(view.z, z_[view.layer]);
    n_token_ = view.n_token;
  }

  Matrix resid_pre(Index layer) { return stored(resid_pre_[layer]); }
  Matrix resid_mid(Index layer) { return stored(resid_mid_[layer]); }
  Matrix z(Index layer) { return stored(z_[layer]); }

 private:
  void keep(const Matrix& values, Buffer& buffer) {
    d_model_ = values.n_rows;
    Matrix copy = buffer.matrix(values.n_rows, values.n_cols);
    std::copy(values.begin(), values.end(), copy.begin());
  }
  Matrix stored(Buffer& buffer) { return buffer.matrix(d_model_, n_token_); }

  std::vector<Buffer> resid_pre_, resid_mid_, z_;
  Index d_model_ = 0, n_token_ = 0;
};

}  // namespace headscope
