#pragma once

#include <cstdint>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/corpus.hpp"
#include "headscope/model.hpp"

namespace headscope {

/// Sequences of `first_token`, then `half_length` random tokens, then the same tokens again. If the
/// vocabulary is large enough, the tokens of a half differ from each other and from `first_token`,
/// so that only the first half predicts the second.
std::vector<TokenIds> induction_sequences(Index d_vocab, TokenId first_token, Index half_length,
                                          Index n_sequence, std::uint64_t seed);

/// Mean attention from the second half to the token that followed the query's first occurrence,
/// A[q, q - half_length + 1]; probability.
/// @param pattern  key x query.
/// Source: Olsson et al. 2022.
double induction_mass(const Matrix& pattern, Index half_length);

/// One head's attention on a sequence, key x query.
Matrix head_pattern(const Model& model, const TokenIds& tokens, HeadIndex head);

/// The token to begin the sequences with: the one that the corpus prepends, or else that of the
/// model's config or its file's tokenizer, or else the last of the vocabulary, where GPT-2 has
/// `<|endoftext|>`.
/// @param corpus  may be null.
TokenId induction_first_token(const Model& model, const Corpus* corpus);

/// Least and largest number of tokens in a half of an induction sequence. In a shorter half a head
/// that attends to a fixed offset, of those that make a head positional, would pass for induction.
inline constexpr Index shortest_induction_half = 10, longest_induction_half = 50;

/// Least mean induction_mass of an induction head.
inline constexpr double least_induction = 0.4;

/// 10 induction_sequences for a model: half_length longest_induction_half, or less if the model's
/// context is shorter; none if it has no room for two halves of shortest_induction_half.
std::vector<TokenIds> induction_sequences(const Model& model, TokenId first_token,
                                          std::uint64_t seed);

/// Runs the model on these sequences.
/// @return 10 x n_layer x n_head; NaN without sequences.
Array induction_scores(const Model& model, TokenId first_token, std::uint64_t seed);

/// Bytes that `induction_scores` takes.
std::uint64_t induction_bytes(const ModelConfig& config);

}  // namespace headscope
