#pragma once

#include <cstdint>
#include <vector>

#include "classification/pattern.hpp"
#include "headscope/array.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// Sequences `first_token`, then `half_length` random tokens, then the same tokens again. The
/// tokens of one half all differ from each other and from `first_token` where the vocabulary is
/// large enough, so that only the first half tells what follows.
std::vector<TokenIds> induction_sequences(Index d_vocab, TokenId first_token, Index half_length,
                                          Index n_sequence, std::uint64_t seed);

/// Mean attention from the second half to the token that followed the query's first occurrence,
/// A[q, q - half_length + 1]; probability.
/// Source: Olsson et al. 2022.
Ratio induction_mass(const Matrix& pattern, Index half_length);

/// Runs the model on 10 such sequences of twice 50 tokens (shorter when the context is).
/// @return 10 x n_layer x n_head.
Array induction_scores(const Model& model, TokenId first_token, std::uint64_t seed);

}  // namespace headscope
