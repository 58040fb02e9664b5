#pragma once

#include "headscope/blas.hpp"

namespace headscope {

/// Backpropagates dz, the gradient of causal_attention's z, to queries, keys and values. Recomputes
/// patterns in blocks of queries; threads over heads.
///
/// @param qkv   3 (n_head d_head) x n_token, one sequence.
/// @param scale the forward pass's.
/// @param dz    (n_head d_head) x n_token.
/// @param dqkv  shaped as qkv, overwritten.
void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale, blas::ConstView dz,
                               blas::View dqkv);

}  // namespace headscope
