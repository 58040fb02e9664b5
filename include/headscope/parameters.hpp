#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/config.hpp"
#include "headscope/types.hpp"

/// Each architecture has one table of tensors: name, shape, component and the member that holds it.
/// Loader, writer, random models, parameter counts and tests all read it.
namespace headscope {

struct Model;
struct LayerWeights;

/// What a parameter belongs to.
enum class Component {
  token_embedding,
  position_embedding,
  attention_q,
  attention_k,
  attention_v,
  attention_o,
  attention_bias,
  mlp,
  layer_norm,
  lm_head,
};

inline constexpr std::size_t n_component = 10;

/// `token_embedding`, `attention_q`, ...
std::string_view component_name(Component component);

/// An axis of a tensor in a file; its extent follows from the config. `d_z` has the heads' values,
/// `d_qkv` queries, keys and values of all heads. Some files hold these apart (`d_q`, `d_k`, `d_v`)
/// or head after head, with queries, keys and values of a head together (`d_qkv_by_head`); and gate
/// and up of a gated MLP apart.
enum class Axis {
  d_model,
  d_z,
  d_qkv,
  d_q,
  d_k,
  d_v,
  d_qkv_by_head,
  d_mlp,
  d_gate,
  d_up,
  n_ctx,
  d_vocab,
};

/// The full extent of the axis, pruned heads included.
std::size_t axis_extent(Axis axis, const ModelConfig& config);

enum class Presence {
  required,  ///< in every model file
  complete,  ///< in files of complete models, which can run text
  optional,  ///< the untied unembedding and its bias
};

struct TensorSpec {
  /// Hugging Face's name, `h.{i}.attn.c_attn.weight`; `{i}` stands for the layer.
  std::string name;
  /// Row-major, as in the files.
  std::vector<Axis> axes;
  /// Several components share the tensor's parameters equally.
  std::vector<Component> components;
  Presence presence;
  /// The member that holds it. Several tensors may be parts of one.
  std::variant<Matrix Model::*, Vector Model::*, Matrix LayerWeights::*, Vector LayerWeights::*>
      member;
  /// Models whose config says no here lack the tensor; null where all have it.
  bool ModelConfig::*condition = nullptr;

  bool per_layer() const { return member.index() >= 2; }
  bool belongs_to(const ModelConfig& config) const {
    return condition == nullptr || config.*condition;
  }
  /// The name in one layer, `h.5.attn.c_attn.weight`.
  std::string name_in(Index layer) const;
  /// The end of its path in a Keras file: `h_._{i}/attn/c_attn/weight:0`.
  std::string keras_name() const;
  /// The full shape in a file, pruned heads included.
  Shape shape(const ModelConfig& config) const;
  /// The shape in a file, without the rows and columns of the layer's pruned heads. Keys and values
  /// of a group stay while one of its heads does.
  Shape stored_shape(const ModelConfig& config, Index layer) const;
};

/// Embeddings first, then a layer's tensors in the order they are used, then the end of the model.
const std::vector<TensorSpec>& tensors_of(const ModelConfig& config);
/// Calls `action(spec, layer)` for every tensor that the model has: once per layer for a tensor of
/// the layers, else once with layer 0.
template <typename Action>
void for_each_tensor(const ModelConfig& config, const Action& action) {
  for (const TensorSpec& spec : tensors_of(config)) {
    if (!spec.belongs_to(config)) continue;
    for (Index layer = 0; layer < (spec.per_layer() ? config.n_layer : 1); ++layer) {
      action(spec, layer);
    }
  }
}

/// GPT-2's tensor of this name pattern. @throws Error if there is none.
const TensorSpec& tensor_spec(std::string_view name);

/// A tensor of the table, in one layer.
struct TensorId {
  const TensorSpec* spec;
  Index layer;  ///< 0 where the tensor belongs to no layer
};

/// A tensor's name in a file without the prefixes of the modules around the model, in any order:
/// `transformer.`, `gpt_neox.`, `module.` (parallel training), `_orig_mod.` (compiled), `model.`.
std::string_view without_prefixes(std::string_view name);
/// Recognises `h.5.attn.c_attn.weight`, also after prefixes, of the config's architecture.
std::optional<TensorId> parse_tensor_name(std::string_view name, const ModelConfig& config = {});
/// Recognises `any/group/h_._5/attn/c_attn/weight:0` of GPT-2.
std::optional<TensorId> parse_keras_name(std::string_view path);

/// The values of the member that holds the tensor, column after column; empty when the model lacks
/// it. Of GPT-2's tensors these are the values row-major as in the files.
std::span<const float> tensor_values(const Model& model, const TensorSpec& spec, Index layer = 0);
std::span<float> tensor_values(Model& model, const TensorSpec& spec, Index layer = 0);
/// Gives the member that holds the tensor the shape that follows from the config. Values are not
/// set.
void allocate_tensor(Model& model, const TensorSpec& spec, Index layer = 0);

/// Name patterns of tensors that the model lacks and that running text needs:
/// `h.{i}.mlp.c_fc.weight`, once for all layers.
std::vector<std::string> missing_tensors(const Model& model);

struct ParameterCounts {
  std::array<std::uint64_t, n_component> by_component{};

  std::uint64_t operator[](Component component) const {
    return by_component[static_cast<std::size_t>(component)];
  }
  std::uint64_t total() const;
  /// Adds a tensor's parameters, shared out among its components.
  void add(const TensorSpec& spec, std::uint64_t count);
};

/// Number of parameters of a complete model with this config; rows and columns of pruned heads do
/// not count. A tied unembedding is the token embedding and counts once; GPT-2 small has
/// 124,439,808.
/// @param unembedding_bias  whether there is an `lm_head.bias`.
ParameterCounts parameter_counts(const ModelConfig& config, bool unembedding_bias = false);

/// Bytes of the weights of a complete model in memory, pruned heads included.
std::uint64_t model_bytes(const ModelConfig& config);

/// Number of parameters that a model holds in memory; fewer for an attention-only model.
ParameterCounts held_parameters(const Model& model);

}  // namespace headscope
