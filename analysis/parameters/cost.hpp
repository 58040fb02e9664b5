#pragma once

#include <array>
#include <string_view>

#include "headscope/config.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Ways to lay out the attention projections of one layer of width d with h heads.
enum class ProjectionScheme {
  dense,               ///< h heads of width d/h, each reading all of the input: GPT-2
  single_head,         ///< one head of width d
  block_diagonal_qkv,  ///< each head reads and projects d/h of the inputs; dense output
  block_diagonal_all,  ///< as before, and the output is block-diagonal too
};
inline constexpr std::array<std::string_view, 4> projection_schemes{
    "dense", "single_head", "block_diagonal_qkv", "block_diagonal_all"};

/// The shape of one layer's attention.
struct AttentionShape {
  Index d_model, n_head;
  Index n_group;  ///< heads of keys and values; n_head where none are shared
  Index d_head;
  bool has_output_projection = true;

  static AttentionShape of(const ModelConfig& config) {
    return {config.d_model, config.n_head, config.n_group(), config.d_head()};
  }
  /// Heads of width d_model / n_head, each with keys and values of its own.
  static AttentionShape of(Index d_model, Index n_head, bool has_output_projection = true) {
    return {d_model, n_head, n_head, d_model / n_head, has_output_projection};
  }
};

/// Weights of one layer's attention, without biases. A single head has as many keys and values as
/// queries.
double attention_parameters(ProjectionScheme scheme, const AttentionShape& shape);

/// The parts of one layer's attention.
enum class CostTerm { projections, qk, av, output, softmax_exponentials };
inline constexpr std::array<std::string_view, 5> cost_terms{"projections", "qk", "av", "output",
                                                            "softmax_exponentials"};

/// Multiply-accumulates (exponentials for the softmax) of one layer over n_token tokens, with every
/// query against every key.
double attention_cost(ProjectionScheme scheme, CostTerm term, const AttentionShape& shape,
                      double n_token);

}  // namespace headscope
