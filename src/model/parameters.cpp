#include "headscope/parameters.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "model/architecture/architecture.hpp"
#include "model/stored_tensor.hpp"

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
  for (auto parts = 1 + std::ranges::count(pattern, '/'); parts > 0; --parts) {
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
      return config.d_model;
    case Axis::d_z:
    case Axis::d_q:
      return config.d_z();
    case Axis::d_k:
    case Axis::d_v:
      return config.d_kv();
    case Axis::d_qkv:
    case Axis::d_qkv_by_head:
      return config.d_qkv();
    case Axis::d_mlp:
    case Axis::d_gate:
    case Axis::d_up:
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
  replace_all(text, layer_mark, std::to_string(layer));
  return text;
}

std::string TensorSpec::keras_name() const {
  std::string text(name);
  replace_all(text, ".", "/");
  replace_all(text, "h/{i}", "h_._{i}");
  if (components.front() == Component::layer_norm) {
    replace_all(text, "weight", "gamma");
    replace_all(text, "bias", "beta");
  }
  for (const char* const embedding : {"wte", "wpe"}) {
    if (name.starts_with(embedding)) replace_all(text, "weight", "embeddings");
  }
  return text + ":0";
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

const TensorSpec& tensor_spec(std::string_view name) {
  for (const TensorSpec& spec : gpt2().tensors) {
    if (spec.name == name) return spec;
  }
  throw Error("no GPT-2 tensor is called " + std::string(name));
}

std::string_view without_prefixes(std::string_view name) {
  static constexpr std::array<std::string_view, 5> prefixes{"transformer.", "gpt_neox.", "module.",
                                                            "_orig_mod.", "model."};
  for (const std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return without_prefixes(name.substr(prefix.size()));
  }
  return name;
}

std::optional<TensorId> parse_tensor_name(std::string_view name, const ModelConfig& config) {
  name = without_prefixes(name);
  for (const TensorSpec& spec : tensors_of(config)) {
    if (const auto layer = match(name, without_prefixes(spec.name))) return TensorId{&spec, *layer};
  }
  return std::nullopt;
}

std::optional<TensorId> parse_keras_name(std::string_view path) {
  std::string written(path);
  for (const std::string embedding : {"wte", "wpe"}) {
    replace_all(written, embedding + "/weight:0", embedding + "/embeddings:0");
  }
  for (const TensorSpec& spec : gpt2().tensors) {
    const std::string pattern = spec.keras_name();
    if (const auto layer = match(last_parts(written, pattern), pattern)) {
      return TensorId{&spec, *layer};
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
  const ModelConfig& config = model.config;
  const std::size_t first = memory_extent(spec.axes.front(), config),
                    last = memory_extent(spec.axes.back(), config);
  const bool reversed = file_order(spec, config) == FileOrder::reversed_axes;
  with_member(model, spec, layer, [&](auto& values) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, Matrix>) {
      values.set_size(reversed ? last : first, reversed ? first : last);
    } else {
      values.set_size(first);
    }
  });
}

std::vector<std::string> missing_tensors(const Model& model) {
  std::vector<std::string> missing;
  for (const TensorSpec& spec : tensors_of(model.config)) {
    if (spec.presence == Presence::optional || !spec.belongs_to(model.config)) continue;
    const Index n = spec.per_layer() ? model.layers.size() : 1;
    for (Index layer = 0; layer < n; ++layer) {
      if (!tensor_values(model, spec, layer).empty()) continue;
      missing.emplace_back(spec.name);
      break;
    }
  }
  return missing;
}

void ParameterCounts::add(const TensorSpec& spec, std::uint64_t count) {
  for (const Component component : spec.components) {
    by_component[static_cast<std::size_t>(component)] += count / spec.components.size();
  }
}

std::uint64_t ParameterCounts::total() const {
  return std::accumulate(by_component.begin(), by_component.end(), std::uint64_t{0});
}

ParameterCounts parameter_counts(const ModelConfig& config, bool unembedding_bias) {
  ParameterCounts counts;
  for_each_tensor(config, [&](const TensorSpec& spec, Index layer) {
    const bool is_bias = spec.axes.size() == 1;
    if (spec.presence == Presence::optional &&
        (is_bias ? !unembedding_bias : config.tied_unembedding)) {
      return;
    }
    counts.add(spec, element_count(spec.stored_shape(config, layer)));
  });
  return counts;
}

std::uint64_t model_bytes(const ModelConfig& config) {
  ModelConfig in_memory = config;
  in_memory.pruned_heads.clear();
  return parameter_counts(in_memory).total() * sizeof(float);
}

ParameterCounts held_parameters(const Model& model) {
  ParameterCounts counts;
  for_each_tensor(model.config, [&](const TensorSpec& spec, Index layer) {
    if (tensor_values(model, spec, layer).empty()) return;
    counts.add(spec, element_count(spec.shape(model.config)));
  });
  return counts;
}

}  // namespace headscope
