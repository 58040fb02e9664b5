#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "headscope/types.hpp"

namespace headscope {

/// Ways to lay out the attention projections of one layer of width d with h heads.
enum class ProjectionScheme {
  dense,               ///< h heads of width d/h, each reading all of the input: GPT-2
  single_head,         ///< one head of width d
  block_diagonal_qkv,  ///< head h reads and projects only its own d/h inputs; dense output
  block_diagonal_all,  ///< as before, and the output is block-diagonal too
};
inline constexpr std::array<std::string_view, 4> projection_schemes{
    "dense", "single_head", "block_diagonal_qkv", "block_diagonal_all"};

/// Weights of one layer's attention, without biases.
/// @param n_head  divides d_model.
double attention_parameters(ProjectionScheme scheme, Index d_model, Index n_head,
                            bool has_output_projection = true);

/// The parts of one layer's attention.
enum class CostTerm { projections, qk, av, output, softmax_exponentials };
inline constexpr std::array<std::string_view, 5> cost_terms{"projections", "qk", "av", "output",
                                                            "softmax_exponentials"};

/// Multiply-accumulates (exponentials for the softmax) of one layer over n_token tokens, with every
/// query against every key.
double attention_cost(ProjectionScheme scheme, CostTerm term, Index d_model, Index n_head,
                      double n_token);

}  // namespace headscope
