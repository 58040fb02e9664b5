#pragma once

#include "headscope/ops.hpp"

namespace headscope {

/// token_loss and its gradient, in one sweep over the vocabulary.
///
/// @param engine    of the logits.
/// @param backward  of the gradient.
/// @param gradient  d_model x n, overwritten: d nll[t] / d normalized[:, t] for each token
///                  separately.
/// Memory: one copy of `gradient` and one chunk of logits per thread, for at most 1024 tokens at a
/// time.
TokenLoss token_loss_with_gradient(blas::ConstView normalized, const Matrix& unembedding,
                                   const Vector& b_U, std::span<const TokenId> targets,
                                   blas::View gradient, Engine engine = Engine::float32,
                                   Engine backward = Engine::float32);

/// Bytes of one thread's chunk of logits.
std::uint64_t token_loss_thread_bytes(Index n_token);
/// Bytes of all threads' products, those of the gradient included.
std::uint64_t token_loss_product_bytes(Index d_model, Index n_token, int n_thread, Engine engine);

}  // namespace headscope
