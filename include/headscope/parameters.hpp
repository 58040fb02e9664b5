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

/// The one table of GPT-2's tensors: name, shape, component and the member that holds it. Loader,
/// writer, random models, parameter counts and tests all read it.
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

/// An axis of a tensor; its extent follows from the config.
enum class Axis { d_model, d_z, d_qkv, d_mlp, n_ctx, d_vocab };
/// `d_z` is n_head * d_head and `d_qkv` is 3 * n_head * d_head: the axes made of heads.
std::size_t axis_extent(Axis axis, const ModelConfig& config);

enum class Presence {
  required,  ///< in every model file
  complete,  ///< in files of complete models, which can run text
  optional,  ///< the untied unembedding and its bias
};

struct TensorSpec {
  /// Hugging Face's name, `h.{i}.attn.c_attn.weight`; `{i}` stands for the layer.
  std::string_view name;
  /// Row-major, as in the files.
  std::vector<Axis> axes;
  /// If more than one, they split the last axis equally.
  std::vector<Component> components;
  Presence presence;
  /// The member that holds it. A Matrix has the axes reversed.
  std::variant<Matrix Model::*, Vector Model::*, Matrix LayerWeights::*, Vector LayerWeights::*>
      member;

  bool per_layer() const { return member.index() >= 2; }
  /// The name in one layer, `h.5.attn.c_attn.weight`.
  std::string name_in(Index layer) const;
  /// The end of its path in a Keras file: `h_._{i}/attn/c_attn/weight:0`.
  std::string keras_name() const;
  /// The shape in memory.
  Shape shape(const ModelConfig& config) const;
  /// The shape in a file, without the rows and columns of the layer's pruned heads.
  Shape stored_shape(const ModelConfig& config, Index layer) const;
};

/// Embeddings first, then a layer's tensors in the order they are used, then the end of the model.
const std::vector<TensorSpec>& gpt2_tensors();
/// Calls `action(spec, layer)` for each tensor, in each of the layers if it belongs to one; else
/// `layer` is 0.
template <typename Action>
void for_each_tensor(Index n_layer, const Action& action) {
  for (const TensorSpec& spec : gpt2_tensors()) {
    for (Index layer = 0; layer < (spec.per_layer() ? n_layer : 1); ++layer) action(spec, layer);
  }
}
/// The tensor of this name pattern. @throws Error if there is none.
const TensorSpec& tensor_spec(std::string_view name);

/// A tensor of the table, in one layer.
struct TensorId {
  const TensorSpec* spec;
  Index layer;  ///< 0 where the tensor belongs to no layer
};

/// A tensor's name in a file without the prefixes of the modules around the model, in any order:
/// `transformer.`, `module.` (parallel training), `_orig_mod.` (compiled), `model.` (Lightning).
std::string_view without_prefixes(std::string_view name);
/// Recognises `h.5.attn.c_attn.weight`, also after prefixes.
std::optional<TensorId> parse_tensor_name(std::string_view name);
/// Recognises `any/group/h_._5/attn/c_attn/weight:0`.
std::optional<TensorId> parse_keras_name(std::string_view path);

/// The tensor's values in a model, row-major as in the files; empty when the model lacks it.
std::span<const float> tensor_values(const Model& model, const TensorSpec& spec, Index layer = 0);
std::span<float> tensor_values(Model& model, const TensorSpec& spec, Index layer = 0);
/// Allocates the tensor in a model, with the shape that the config gives. Values are not set.
void allocate_tensor(Model& model, const TensorSpec& spec, Index layer = 0);

/// Name patterns of the tensors that the model lacks for running text, one for all layers:
/// `h.{i}.mlp.c_fc.weight`.
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

/// Number of parameters of a complete model of this shape, without pruned heads. A tied unembedding
/// is the token embedding and counts once; GPT-2 small has 124,439,808.
/// @param unembedding_bias  whether there is an `lm_head.bias`.
ParameterCounts parameter_counts(const ModelConfig& config, bool unembedding_bias = false);

/// Bytes of the weights of a complete model in memory, pruned heads included.
std::uint64_t model_bytes(const ModelConfig& config);

/// Number of parameters that a model holds in memory; fewer for an attention-only model.
ParameterCounts held_parameters(const Model& model);

}  // namespace headscope
