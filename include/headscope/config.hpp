#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// x f(x), with f: `gelu_new` (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, `gelu` the standard
/// normal distribution function, `relu` 1 where x > 0, `silu` logistic(x), `quick_gelu`
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

/// What normalizes the residual stream: `layer_norm` gain (x - mean) / deviation + bias, `rms_norm`
/// gain x / root mean square.
enum class NormKind { layer_norm, rms_norm };

/// `learned`: a vector for each position is added to the token embedding. `rotary`: queries and
/// keys turn with their position.
enum class PositionKind { learned, rotary };

/// How a rotary model's rates of turning were changed for longer contexts, by the names of Hugging
/// Face's `rope_type`; `none` is its `default`.
enum class RotaryScaling { none, linear, llama3 };

/// Rotary position embedding: the first d = share d_head dimensions of queries and keys turn, i
/// with i + d / 2, by position times a rate that falls with i from 1 to nearly 1 / theta.
/// Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
struct Rotary {
  double share = 1;    ///< of d_head. Hugging Face's `rotary_pct`, `partial_rotary_factor`
  double theta = 1e4;  ///< Hugging Face's `rope_theta`, `rotary_emb_base`
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1;  ///< rates are divided by it: all (linear), or the slow ones (llama3)
  /// llama3: rates of fewer than `low_frequency_factor` turns in `original_n_ctx` tokens are
  /// divided by `factor`, those of more than `high_frequency_factor` stay, those between are
  /// interpolated.
  double low_frequency_factor = 1, high_frequency_factor = 4;
  double original_n_ctx = 8192;  ///< Hugging Face's `original_max_position_embeddings`
};

/// The shape of a model. Valid once `check()` has passed. The defaults are GPT-2's.
struct ModelConfig {
  std::string architecture = "gpt2";  ///< Hugging Face's `model_type`
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
  std::vector<HeadIndex> pruned_heads = {};

  NormKind norm = NormKind::layer_norm;
  PositionKind positions = PositionKind::learned;
  Rotary rotary = {};              ///< where positions are rotary
  Index n_kv_head = 0;             ///< heads of keys and values; 0 for as many as heads of queries
  Index head_width = 0;            ///< d_head where it is not d_model / n_head, else 0
  bool parallel_residual = false;  ///< attention and MLP both read resid_pre
  bool gated_mlp = false;          ///< hidden = activation(gate) * up
  bool qkv_bias = true, output_bias = true, mlp_bias = true;  ///< whether weights have biases

  /// n_ctx of the model in a run that lowers n_ctx to its `--context`, else 0.
  Index model_n_ctx = 0;
  /// n_ctx is the sliding window.
  bool window_bounds_context = false;
  /// The token that begins a document, as the config says. Hugging Face's `bos_token_id`.
  std::optional<Index> first_token = std::nullopt;
  /// Code beside the weights that computes the model, as the config says; it is not run. Hugging
  /// Face's `auto_map`.
  std::string model_code = {};
  double initial_deviation = 0.02;  ///< of an untrained model's weights. `initializer_range`

  /// Indices (layer * n_head + head) of the heads that the model has not lost, ascending.
  std::vector<Index> heads_left() const;
  /// The heads of a layer, 0 to n_head - 1, that the model has not lost, ascending.
  std::vector<Index> heads_left_in(Index layer) const;
  Index d_head() const { return head_width != 0 ? head_width : d_model / n_head; }
  /// Groups of heads that share keys and values: n_head in a model that shares none.
  Index n_group() const { return n_kv_head != 0 ? n_kv_head : n_head; }
  /// The group of a head's keys and values: consecutive heads share one.
  Index group(Index head) const { return head / (n_head / n_group()); }
  Index d_z() const { return n_head * d_head(); }
  Index d_kv() const { return n_group() * d_head(); }
  /// Rows of W_QKV: queries of all heads, keys of all groups, values of all groups.
  Index d_qkv() const { return d_z() + 2 * d_kv(); }
  /// First row of W_QKV and of its products that holds a head's queries, keys and values. Heads of
  /// a group share the latter two.
  Index q_row(Index head) const { return head * d_head(); }
  Index k_row(Index head) const { return d_z() + group(head) * d_head(); }
  Index v_row(Index head) const { return d_z() + d_kv() + group(head) * d_head(); }
  /// Rows of W_in: d_mlp, or gate and up.
  Index d_in() const { return gated_mlp ? 2 * d_mlp : d_mlp; }
  /// The first `d_rotary()` of a head's query and key dimensions turn; even, 0 without rotation.
  Index d_rotary() const;
  /// Radians per token by which dimensions i and i + d_rotary() / 2 turn; i < d_rotary() / 2.
  std::vector<double> rotary_rates() const;
  /// Scores before softmax are q.k times this: 1/sqrt(d_head), or 1 in a model that does not scale
  /// by width; in a model that scales by inverse layer divided by layer + 1.
  double score_scale(Index layer) const;

  /// Most tokens that the model computes at once; n_ctx bounds those of the corpus.
  Index longest_sequence() const { return std::max(n_ctx, model_n_ctx); }
  /// What bounds a text to n_ctx tokens: "the model's context" or "the model's sliding window".
  std::string_view context_bound() const;

  /// @throws OptionError naming the field, its value and the constraint: counts >= 1, n_head
  /// divides d_model where the model has no head width, n_kv_head divides n_head, rotation fits the
  /// head, pruned heads exist in the model and are ascending without repeats.
  void check() const;
  /// The same check for a config from a file.
  /// @param name_of  the file's name of the member `n_head` or of `rotary theta`, as errors give
  /// it.
  void check(const std::function<std::string(std::string_view)>& name_of) const;
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
