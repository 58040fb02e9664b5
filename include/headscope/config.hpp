#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// x times: `gelu_new` (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, `gelu` the standard normal
/// distribution function of x, `relu` 1 where x > 0, `silu` logistic(x), `quick_gelu`
/// logistic(1.702 x).
enum class Activation { gelu_new, gelu, relu, silu, quick_gelu };
inline constexpr std::array all_activations{Activation::gelu_new, Activation::gelu,
                                            Activation::relu, Activation::silu,
                                            Activation::quick_gelu};

/// Hugging Face's name of it.
std::string_view activation_name(Activation activation);
/// Takes also Hugging Face's other names: `gelu_pytorch_tanh`, `gelu_fast` and `gelu_accurate` of
/// gelu_new, `gelu_python` of gelu, `swish` of silu. @throws OptionError naming the known
/// activations.
Activation parse_activation(std::string_view name);

/// The shape of a GPT-2 model. Valid once `check()` has passed.
struct ModelConfig {
  Index n_layer = 0;
  Index n_head = 0;
  Index d_model = 0;  ///< Hugging Face's `n_embd`
  Index d_mlp = 0;    ///< Hugging Face's `n_inner`; 4 * d_model in GPT-2
  Index n_ctx = 0;    ///< Hugging Face's `n_positions`
  Index d_vocab = 0;  ///< Hugging Face's `vocab_size`; 0 if neither weights nor config give it
  double layer_norm_epsilon = 1e-5;
  Activation activation = Activation::gelu_new;
  bool tied_unembedding = true;  ///< the unembedding is the token embedding
  /// Scores are divided by sqrt(d_head). Hugging Face's `scale_attn_weights`.
  bool scale_by_width = true;
  /// Scores of layer l are divided by l + 1. Hugging Face's `scale_attn_by_inverse_layer_idx`.
  bool scale_by_inverse_layer = false;
  /// Heads whose weights the file leaves out, ascending. In memory their weights are zero, so head
  /// numbers do not change. Hugging Face's `pruned_heads`.
  std::vector<HeadIndex> pruned_heads;

  Index d_head() const { return d_model / n_head; }
  /// Scores before softmax are q.k times this: 1/sqrt(d_head), or 1 in a model that does not scale
  /// by width; in a model that scales by inverse layer divided by layer + 1.
  double score_scale(Index layer) const;

  /// @throws OptionError naming the field, its value and the constraint: counts >= 1, n_head
  /// divides d_model, pruned heads exist in the model and are ascending without repeats.
  void check() const;
};

/// A published architecture's attention shape, for the `parameters` table.
struct NamedArchitecture {
  std::string_view name;
  Index d_model;
  Index n_head;
  bool has_output_projection;  ///< false for the baby GPTs without W_O
};

/// gpt2, gpt2-medium, gpt2-large, gpt2-xl, gpt3, llama-7b, babygpt-v3, babygpt-v4.
std::span<const NamedArchitecture> named_architectures();

}  // namespace headscope
