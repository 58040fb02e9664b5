#include "model/architecture/architecture.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "headscope/error.hpp"

namespace headscope {

std::vector<ConfigField> common_fields_and(std::initializer_list<ConfigField> further) {
  using C = ModelConfig;
  std::vector<ConfigField> fields{{"num_hidden_layers", &C::n_layer, true},
                                  {"num_attention_heads", &C::n_head, true},
                                  {"hidden_size", &C::d_model, true},
                                  {"intermediate_size", &C::d_mlp, true},
                                  {"max_position_embeddings", &C::n_ctx, true},
                                  {"vocab_size", &C::d_vocab, true},
                                  {"hidden_act", &C::activation},
                                  {"tie_word_embeddings", &C::tied_unembedding},
                                  {"attention_bias", &C::qkv_bias},
                                  {"attention_bias", &C::output_bias},
                                  {"initializer_range", &C::initial_deviation}};
  fields.insert(fields.end(), further);
  return fields;
}

std::vector<TensorSpec> with_layer_prefix(const std::string& prefix,
                                          std::vector<TensorSpec> tensors) {
  for (TensorSpec& spec : tensors) {
    if (spec.per_layer()) spec.name.insert(0, prefix);
  }
  return tensors;
}

const TensorSpec* tensor_of(const Architecture& architecture, Matrix Model::*member) {
  const auto found = std::ranges::find_if(architecture.tensors, [&](const TensorSpec& spec) {
    const auto* const held = std::get_if<Matrix Model::*>(&spec.member);
    return held != nullptr && *held == member;
  });
  return found == architecture.tensors.end() ? nullptr : &*found;
}

std::span<const Architecture* const> architectures() {
  static const std::array all{
      &gpt2(),      //
      &gpt_neox(),  //
      &llama(),     //
      &mistral(),   //
      &qwen2(),
  };
  return all;
}

const Architecture* find_architecture(std::string_view model_type) {
  for (const Architecture* const known : architectures()) {
    if (known->defaults.architecture == model_type) return known;
  }
  return nullptr;
}

const Architecture& architecture_of(const ModelConfig& config) {
  const Architecture* const found = find_architecture(config.architecture);
  if (found != nullptr) return *found;
  throw OptionError("architecture",
                    "expected " + architecture_names() + ", got \"" + config.architecture + "\"");
}

std::string architecture_names() {
  const auto all = architectures();
  const auto name = [](const Architecture* known) { return known->defaults.architecture; };
  return joined(all.first(all.size() - 1), ", ", name) + " or " + name(all.back());
}

const std::vector<TensorSpec>& tensors_of(const ModelConfig& config) {
  return architecture_of(config).tensors;
}

}  // namespace headscope
