#pragma once

#include <span>

#include "compute/product/weight_product.hpp"
#include "headscope/blas.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

/// Backpropagates dz, the gradient of the attention's z, to queries, keys and values of a batch.
/// Recomputes patterns in blocks of queries; threads over heads.
///
/// @param qkv   ((n_head + 2 n_group) d_head) x n_column: rows Q | K | V.
/// @param scale as in causal_attention.
/// @param dz    (n_head d_head) x n_column.
/// @param dqkv  shaped as qkv, overwritten.
/// @param products  OpenBLAS multiplies sequences of fewer than 128 queries. If heads share keys
///                  and values, its scratch keeps 2 n_head d_head x n_column gradients.
void causal_attention_gradient(const Matrix& qkv, Index n_head, double scale,
                               std::span<const SequenceBatch::Sequence> sequences,
                               blas::ConstView dz, blas::View dqkv, const Products& products);

/// Bytes of the work space that each thread keeps for batches of at most n_column columns.
std::uint64_t attention_gradient_thread_bytes(Index d_head, Index n_column, Engine engine);

}  // namespace headscope
