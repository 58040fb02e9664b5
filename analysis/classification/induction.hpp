#pragma once

#include <cstdint>
#include <vector>

#include "classification/pattern.hpp"
#include "headscope/array.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// Sequences of `first_token`, then `half_length` random tokens, then the same tokens again. If the
/// vocabulary is large enough, the tokens of a half differ from each other and from `first_token`,
/// so that only the first half predicts the second.
std::vector<TokenIds> induction_sequences(Index d_vocab, TokenId first_token, Index half_length,
                                          Index n_sequence, std::uint64_t seed);

/// Mean attention from the second half to the token that followed the query's first occurrence,
/// A[q, q - half_length + 1]; probability.
/// Source: Olsson et al. 2022.
Ratio induction_mass(const Matrix& pattern, Index half_length);

/// Runs the model on 10 such sequences with half_length 50, or less if the context is shorter.
/// @return 10 x n_layer x n_head.
Array induction_scores(const Model& model, TokenId first_token, std::uint64_t seed);

}  // namespace headscope
