#pragma once

#include "headscope/model.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Pairs that need no text: random tokens are repeated. The good side ends with the token that
/// followed before, the bad side with another one. None if vocabulary or context is too small.
/// @param first_token  of every sequence.
/// @param n_pair       pairs; they end at different places of the second half.
Task repeated_tokens_task(const Model& model, TokenId first_token, std::uint64_t n_pair,
                          std::uint64_t seed);

}  // namespace headscope
