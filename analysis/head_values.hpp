#pragma once

#include "headscope/blas.hpp"
#include "headscope/config.hpp"

namespace headscope {

/// Values of all heads from a layer's projections: d_z x n_token, head h at rows h * d_head. Heads
/// of a group have the same values.
/// @param qkv     LayerView::qkv.
/// @param memory  holds them where heads share values; must live as long as what is returned.
inline blas::ConstView head_values(const ModelConfig& config, const Matrix& qkv, Matrix& memory) {
  if (config.n_group() == config.n_head) {
    return blas::ConstView(qkv).rows(config.v_row(0), config.d_z());
  }
  const Index d_head = config.d_head();
  memory.set_size(config.d_z(), qkv.n_cols);
  for (Index head = 0; head < config.n_head; ++head) {
    memory.rows(config.q_row(head), config.q_row(head) + d_head - 1) =
        qkv.rows(config.v_row(head), config.v_row(head) + d_head - 1);
  }
  return memory;
}

}  // namespace headscope
