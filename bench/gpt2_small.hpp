#pragma once

#include <omp.h>

#include <algorithm>

#include "headscope/blas.hpp"
#include "headscope/config.hpp"

namespace headscope::bench {

inline ModelConfig gpt2_small() {
  ModelConfig config;
  config.n_layer = 12;
  config.n_head = 12;
  config.d_model = 768;
  config.d_mlp = 3072;
  config.n_ctx = 1024;
  config.d_vocab = 50257;
  return config;
}

/// Only the matrix products of causal attention over blocks of 64 queries.
inline void attention_products(const Matrix& qkv, Index n_head, Matrix& z, Matrix& scores) {
  constexpr Index block = 64;
  const Index d_model = z.n_rows, d_head = d_model / n_head, n_token = z.n_cols;
  const Index n_block = (n_token + block - 1) / block;
#pragma omp parallel for schedule(dynamic)
  for (Index task = 0; task < n_block * n_head; ++task) {
    const Index head = task % n_head, first = (n_block - 1 - task / n_head) * block;
    const Index count = std::min(block, n_token - first), n_key = first + count;
    const auto slot = static_cast<Index>(omp_get_thread_num());
    const auto rows = [&](Index part) {
      return blas::ConstView(qkv).rows(part * d_model + head * d_head, d_head);
    };
    const blas::View S = blas::View(scores).rows(0, n_key).cols(slot * block, count);
    blas::multiply_serial(rows(1).cols(0, n_key), blas::Transpose::yes, rows(0).cols(first, count),
                          blas::Transpose::no, S);
    blas::multiply_serial(rows(2).cols(0, n_key), blas::Transpose::no, S, blas::Transpose::no,
                          blas::View(z).rows(head * d_head, d_head).cols(first, count));
  }
}

inline double attention_flops(Index n_token, Index d_model) {
  const auto t = static_cast<double>(n_token), d = static_cast<double>(d_model);
  return 2 * t * (t + 64) * d;
}

}  // namespace headscope::bench
