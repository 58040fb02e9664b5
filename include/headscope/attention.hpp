#pragma once

#include "headscope/blas.hpp"
#include "headscope/compute_context.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Causal self-attention of one sequence from its projected queries, keys and values:
/// z = V softmax(K' Q scale) for each head, where query q sees keys 0 .. q.
///
/// Computes only the causal half, in blocks of queries; threads over heads and blocks.
///
/// @param qkv      ((n_head + 2 n_group) d_head) x n_token: rows Q | K | V. n_group divides n_head:
///                 head h reads keys and values h n_group / n_head.
/// @param scale    scores are q.k * scale (ModelConfig::score_scale).
/// @param z        (n_head d_head) x n_token, overwritten.
/// @param pattern  n_token x n_token x n_head, overwritten, zero for keys after the query; null if
///                 not wanted, and then no n_token x n_token matrix is allocated.
/// @param context  its Engines::passes multiplies keys and values, or OpenBLAS with fewer than 128
///                 queries.
/// @throws ShapeError  if the shapes do not fit; gives both.
/// Source: Vaswani et al. 2017, "Attention Is All You Need".
void causal_attention(const Matrix& qkv, Index n_head, double scale, blas::View z,
                      Cube* pattern = nullptr, const ComputeContext& context = {});

}  // namespace headscope
