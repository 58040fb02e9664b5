#pragma once

#include "headscope/blas.hpp"

namespace headscope {

/// The gradient that dz, the gradient of causal_attention's z, sends back to queries, keys and
/// values. Patterns are computed again, a block of queries at a time; threads over heads.
///
/// @param qkv   3 (n_head d_head) x n_token, one sequence.
/// @param dz    (n_head d_head) x n_token.
/// @param dqkv  shaped as qkv, overwritten.
void causal_attention_gradient(const Matrix& qkv, Index n_head, blas::ConstView dz,
                               blas::View dqkv);

}  // namespace headscope
