#include "headscope/parameters.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/number_text.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "model/pruned_heads.hpp"

namespace headscope {
namespace {

constexpr std::string_view layer_mark = "{i}";

// The member of the model or of its layer that a tensor is kept in.
template <typename AnyModel, typename Action>
auto with_member(AnyModel& model, const TensorSpec& spec, Index layer, Action action) {
  return std::visit(
      [&](auto member) {
        if constexpr (requires { model.*member; }) {
          return action(model.*member);
        } else {
          return action(model.layers.at(layer).*member);
        }
      },
      spec.member);
}

// Reads the layer number where the pattern has `{i}`.
std::optional<Index> match(std::string_view text, std::string_view pattern) {
  const std::size_t mark = pattern.find(layer_mark);
  if (mark == std::string_view::npos) {
    return text == pattern ? std::optional<Index>(0) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, mark);
  const std::string_view after = pattern.substr(mark + layer_mark.size());
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) ||
      !text.ends_with(after)) {
    return std::nullopt;
  }
  text.remove_prefix(before.size());
  text.remove_suffix(after.size());
  return parse_whole_number(text, std::numeric_limits<std::int32_t>::max());
}

// The end of a path with as many parts as the pattern has.
std::string_view last_parts(std::string_view path, std::string_view pattern) {
  std::size_t begin = path.size();
  for (auto parts = 1 + std::count(pattern.begin(), pattern.end(), '/'); parts > 0; --parts) {
    if (begin == 0) return path;
    begin = path.rfind('/', begin - 1);
    if (begin == std::string_view::npos) return path;
  }
  return path.substr(begin + 1);
}

}  // namespace

std::string_view component_name(Component component) {
  static constexpr std::array<std::string_view, n_component> names{
      "token_embedding", "position_embedding", "attention_q", "attention_k", "attention_v",
      "attention_o",     "attention_bias",     "mlp",         "layer_norm",  "lm_head"};
  return names.at(static_cast<std::size_t>(component));
}

std::size_t axis_extent(Axis axis, const ModelConfig& config) {
  switch (axis) {
    case Axis::d_model:
    case Axis::d_z:
      return config.d_model;
    case Axis::d_qkv:
      return 3 * config.d_model;
    case Axis::d_mlp:
      return config.d_mlp;
    case Axis::n_ctx:
      return config.n_ctx;
    case Axis::d_vocab:
      return config.d_vocab;
  }
  return 0;
}

std::string TensorSpec::name_in(Index layer) const {
  std::string text(name);
  const std::size_t mark = text.find(layer_mark);
  if (mark != std::string::npos) text.replace(mark, layer_mark.size(), std::to_string(layer));
  return text;
}

Shape TensorSpec::shape(const ModelConfig& config) const {
  Shape extents;
  for (const Axis axis : axes) extents.push_back(axis_extent(axis, config));
  return extents;
}

Shape TensorSpec::stored_shape(const ModelConfig& config, Index layer) const {
  Shape extents;
  for (const Axis axis : axes) extents.push_back(stored_extent(axis, config, layer));
  return extents;
}

const std::vector<TensorSpec>& gpt2_tensors() {
  using A = Axis;
  using C = Component;
  using L = LayerWeights;
  using P = Presence;
  static const std::vector<TensorSpec> tensors{
      {"wte.weight",
       {"wte/weight:0", "wte/embeddings:0"},
       {A::d_vocab, A::d_model},
       {C::token_embedding},
       P::complete,
       &Model::W_E},
      {"wpe.weight",
       {"wpe/embeddings:0", "wpe/weight:0"},
       {A::n_ctx, A::d_model},
       {C::position_embedding},
       P::required,
       &Model::W_P},
      {"h.{i}.ln_1.weight",
       {"h_._{i}/ln_1/gamma:0"},
       {A::d_model},
       {C::layer_norm},
       P::required,
       &L::ln_1_gain},
      {"h.{i}.ln_1.bias",
       {"h_._{i}/ln_1/beta:0"},
       {A::d_model},
       {C::layer_norm},
       P::required,
       &L::ln_1_bias},
      {"h.{i}.attn.c_attn.weight",
       {"h_._{i}/attn/c_attn/weight:0"},
       {A::d_model, A::d_qkv},
       {C::attention_q, C::attention_k, C::attention_v},
       P::required,
       &L::W_QKV},
      {"h.{i}.attn.c_attn.bias",
       {"h_._{i}/attn/c_attn/bias:0"},
       {A::d_qkv},
       {C::attention_bias},
       P::required,
       &L::b_QKV},
      {"h.{i}.attn.c_proj.weight",
       {"h_._{i}/attn/c_proj/weight:0"},
       {A::d_z, A::d_model},
       {C::attention_o},
       P::required,
       &L::W_O},
      {"h.{i}.attn.c_proj.bias",
       {"h_._{i}/attn/c_proj/bias:0"},
       {A::d_model},
       {C::attention_bias},
       P::required,
       &L::b_O},
      {"h.{i}.ln_2.weight",
       {"h_._{i}/ln_2/gamma:0"},
       {A::d_model},
       {C::layer_norm},
       P::complete,
       &L::ln_2_gain},
      {"h.{i}.ln_2.bias",
       {"h_._{i}/ln_2/beta:0"},
       {A::d_model},
       {C::layer_norm},
       P::complete,
       &L::ln_2_bias},
      {"h.{i}.mlp.c_fc.weight",
       {"h_._{i}/mlp/c_fc/weight:0"},
       {A::d_model, A::d_mlp},
       {C::mlp},
       P::complete,
       &L::W_in},
      {"h.{i}.mlp.c_fc.bias",
       {"h_._{i}/mlp/c_fc/bias:0"},
       {A::d_mlp},
       {C::mlp},
       P::complete,
       &L::b_in},
      {"h.{i}.mlp.c_proj.weight",
       {"h_._{i}/mlp/c_proj/weight:0"},
       {A::d_mlp, A::d_model},
       {C::mlp},
       P::complete,
       &L::W_out},
      {"h.{i}.mlp.c_proj.bias",
       {"h_._{i}/mlp/c_proj/bias:0"},
       {A::d_model},
       {C::mlp},
       P::complete,
       &L::b_out},
      {"ln_f.weight",
       {"ln_f/gamma:0"},
       {A::d_model},
       {C::layer_norm},
       P::complete,
       &Model::ln_f_gain},
      {"ln_f.bias", {"ln_f/beta:0"}, {A::d_model}, {C::layer_norm}, P::complete, &Model::ln_f_bias},
      {"lm_head.weight", {}, {A::d_vocab, A::d_model}, {C::lm_head}, P::optional, &Model::W_U},
      {"lm_head.bias", {}, {A::d_vocab}, {C::lm_head}, P::optional, &Model::b_U},
  };
  return tensors;
}

const TensorSpec& tensor_spec(std::string_view name) {
  for (const TensorSpec& spec : gpt2_tensors()) {
    if (spec.name == name) return spec;
  }
  throw Error("no GPT-2 tensor is called " + std::string(name));
}

std::string_view without_prefixes(std::string_view name) {
  static constexpr std::array<std::string_view, 4> prefixes{"transformer.", "module.", "_orig_mod.",
                                                            "model."};
  const auto prefix = std::find_if(prefixes.begin(), prefixes.end(),
                                   [&](std::string_view p) { return name.starts_with(p); });
  return prefix == prefixes.end() ? name : without_prefixes(name.substr(prefix->size()));
}

std::optional<TensorId> parse_tensor_name(std::string_view name) {
  name = without_prefixes(name);
  for (const TensorSpec& spec : gpt2_tensors()) {
    if (const auto layer = match(name, spec.name)) return TensorId{&spec, *layer};
  }
  return std::nullopt;
}

std::optional<TensorId> parse_keras_name(std::string_view path) {
  for (const TensorSpec& spec : gpt2_tensors()) {
    for (const std::string_view pattern : spec.keras_names) {
      if (const auto layer = match(last_parts(path, pattern), pattern)) {
        return TensorId{&spec, *layer};
      }
    }
  }
  return std::nullopt;
}

std::span<const float> tensor_values(const Model& model, const TensorSpec& spec, Index layer) {
  return with_member(model, spec, layer, [](const auto& values) {
    return std::span<const float>(values.memptr(), values.n_elem);
  });
}

std::span<float> tensor_values(Model& model, const TensorSpec& spec, Index layer) {
  return with_member(model, spec, layer,
                     [](auto& values) { return std::span<float>(values.memptr(), values.n_elem); });
}

void allocate_tensor(Model& model, const TensorSpec& spec, Index layer) {
  const Shape shape = spec.shape(model.config);
  with_member(model, spec, layer, [&](auto& values) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, Matrix>) {
      values.set_size(shape[1], shape[0]);
    } else {
      values.set_size(shape[0]);
    }
  });
}

std::vector<std::string> missing_tensors(const Model& model) {
  std::vector<std::string> missing;
  for (const TensorSpec& spec : gpt2_tensors()) {
    if (spec.presence == Presence::optional) continue;
    const Index n = spec.per_layer() ? model.layers.size() : 1;
    for (Index layer = 0; layer < n; ++layer) {
      if (!tensor_values(model, spec, layer).empty()) continue;
      missing.emplace_back(spec.name);
      break;
    }
  }
  return missing;
}

std::uint64_t ParameterCounts::total() const {
  return std::accumulate(by_component.begin(), by_component.end(), std::uint64_t{0});
}

ParameterCounts parameter_counts(const ModelConfig& config, bool unembedding_bias) {
  ParameterCounts counts;
  for (const TensorSpec& spec : gpt2_tensors()) {
    const bool bias = spec.axes.size() == 1;
    if (spec.presence == Presence::optional &&
        (bias ? !unembedding_bias : config.tied_unembedding)) {
      continue;
    }
    std::uint64_t count = 0;
    for (Index layer = 0; layer < (spec.per_layer() ? config.n_layer : 1); ++layer) {
      count += element_count(spec.stored_shape(config, layer));
    }
    for (const Component component : spec.components) {
      counts.by_component[static_cast<std::size_t>(component)] += count / spec.components.size();
    }
  }
  return counts;
}

std::uint64_t model_bytes(const ModelConfig& config) {
  ModelConfig in_memory = config;
  in_memory.pruned_heads.clear();
  return parameter_counts(in_memory).total() * sizeof(float);
}

ParameterCounts held_parameters(const Model& model) {
  ParameterCounts counts;
  for (const TensorSpec& spec : gpt2_tensors()) {
    const Index n_layer = spec.per_layer() ? model.layers.size() : 1;
    for (Index layer = 0; layer < n_layer; ++layer) {
      const std::size_t part = tensor_values(model, spec, layer).size() / spec.components.size();
      for (const Component component : spec.components) {
        counts.by_component[static_cast<std::size_t>(component)] += part;
      }
    }
  }
  return counts;
}

}  // namespace headscope
