#pragma once

#include <optional>

#include "headscope/model.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Largest number of tokens that are repeated.
inline constexpr Index longest_repeated_half = 20;

/// Pairs that need no text: random tokens are repeated. The good side ends with the token that
/// followed before, the bad side with another one. None if vocabulary or context is too small.
/// @param first_token  of every side, not among the random tokens; none: sides begin with these.
/// @param n_pair       pairs; they end at different places of the second half.
Task repeated_tokens_task(const Model& model, std::optional<TokenId> first_token,
                          std::uint64_t n_pair, std::uint64_t seed);

}  // namespace headscope
