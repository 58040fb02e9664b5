#pragma once

#include <span>

#include "compute/product/weight_product.hpp"
#include "headscope/token_loss.hpp"

namespace headscope {

/// Negative log likelihood of each target under the unembedded, layer-normed residual stream,
/// without ever holding all logits: the vocabulary is processed in chunks with a running
/// log-sum-exp.
///
/// @param normalized   d_model x n, after ln_f.
/// @param unembedding  d_model x d_vocab.
/// @param b_U          d_vocab, or empty.
/// @param targets      n token ids.
/// @param logits       computes the logits.
/// @throws ShapeError  if counts differ or a target is not below d_vocab.
TokenLoss token_loss(blas::ConstView normalized, const Matrix& unembedding, const Vector& b_U,
                     std::span<const TokenId> targets, const Products& logits);

/// token_loss and its gradient, in one sweep over the vocabulary.
///
/// @param backward  computes the gradient.
/// @param gradient  d_model x n, overwritten: d nll[t] / d normalized[:, t] for each token
///                  separately.
/// Memory: one copy of `gradient` and one chunk of logits per thread, for at most 1024 tokens at a
/// time.
TokenLoss token_loss_with_gradient(blas::ConstView normalized, const Matrix& unembedding,
                                   const Vector& b_U, std::span<const TokenId> targets,
                                   blas::View gradient, const Products& logits,
                                   const Products& backward);

/// Bytes of one thread's chunk of logits.
std::uint64_t token_loss_thread_bytes(Index n_token);
/// Bytes of all threads' products, those of the gradient included.
std::uint64_t token_loss_product_bytes(Index d_model, Index n_token, int n_thread, Engine engine);

}  // namespace headscope
