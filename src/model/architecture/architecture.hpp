#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headscope/config.hpp"
#include "headscope/parameters.hpp"

namespace headscope {

class JsonFields;

/// A member of a config that a field may hold.
using ConfigMember = std::variant<Index ModelConfig::*, double ModelConfig::*, bool ModelConfig::*,
                                  Activation ModelConfig::*, double Rotary::*>;

/// A field of a config: Hugging Face's name and the member that holds it.
struct ConfigField {
  std::string_view name;
  ConfigMember member;
  bool required = false;
};

/// What tells models of one kind from those of another, as data. Each has a file of its own and a
/// line in `architectures()`.
struct Architecture {
  std::string_view title;  ///< in messages: `GPT-2`
  /// Values of fields that a config lacks; `architecture` is Hugging Face's `model_type`.
  ModelConfig defaults = {};
  /// A later field of the same member is an older name, read where the first one is not there.
  std::vector<ConfigField> fields;
  /// Embeddings first, then a layer's tensors in the order they are used, then the model's end.
  std::vector<TensorSpec> tensors;
  /// Ends of names of layer tensors that hold no weights, such as causal masks.
  std::vector<std::string_view> buffers;
  /// Whether files hold the layers' matrices out x in, as PyTorch's nn.Linear does.
  bool linear = true;
  /// Whether W_O and W_out of an untrained model are divided by sqrt(2 n_layer).
  bool scaled_residual = false;
  /// Reads the width of the sliding window, in tokens, from a config; n_ctx is lowered to it.
  /// Null in an architecture without sliding windows.
  std::optional<Index> (*window)(const JsonFields& config) = nullptr;
};

/// The fields that the configs of architectures after GPT-2 share, and `further` ones.
std::vector<ConfigField> common_fields_and(std::initializer_list<ConfigField> further);

/// The tensors, with the prefix before the names of those of the layers.
std::vector<TensorSpec> with_layer_prefix(const std::string& prefix,
                                          std::vector<TensorSpec> tensors);

/// The tensor of a matrix; null if the architecture has none.
const TensorSpec* tensor_of(const Architecture& architecture, Matrix Model::*member);

/// All known ones, GPT-2 first.
std::span<const Architecture* const> architectures();
/// Null if the name is unknown.
const Architecture* find_architecture(std::string_view model_type);
/// Their names: `gpt2, gpt_neox or llama`.
std::string architecture_names();
/// @throws OptionError if the config names an unknown one.
const Architecture& architecture_of(const ModelConfig& config);

const Architecture& gpt2();
const Architecture& gpt_neox();
const Architecture& llama();
const Architecture& mistral();
const Architecture& qwen2();

/// The names of fields that state members of Rotary: `rope_parameters.rope_theta`.
using RotaryNames = std::vector<std::pair<double Rotary::*, std::string>>;

/// Rotary positions from `rope_parameters`, or `rope_scaling` of older configs.
/// @return the fields that it read.
/// @throws DataError naming the field if the rates change in a way that is not computed.
RotaryNames read_rotary(const JsonFields& config, Rotary& rotary);
/// `rope_scaling` as a model file holds it: JSON. Empty where rates are not scaled.
std::string rotary_scaling_text(const Rotary& rotary);

}  // namespace headscope
