#pragma once

#include "headscope/model.hpp"
#include "headscope/tasks.hpp"

namespace headscope {

/// Pairs that need no text: random tokens come twice, and the token that followed before is better
/// than another of them. The model of a vocabulary of a few tokens has no such pairs.
/// @param first_token  of every sequence.
/// @param n_pair       at different places of the second half.
Task repeated_tokens_task(const Model& model, TokenId first_token, std::uint64_t n_pair,
                          std::uint64_t seed);

}  // namespace headscope
