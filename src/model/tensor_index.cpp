#include "model/tensor_index.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.hpp"
#include "headscope/error.hpp"
#include "model/model_files.hpp"

namespace headscope {
namespace {

bool is_adapter_tensor(const TensorInfo& tensor) {
  return tensor.name.starts_with("base_model.model.") ||
         tensor.name.find(".lora_") != std::string::npos;
}

bool is_layer_tensor(std::string_view name, const Architecture& architecture) {
  return std::ranges::any_of(architecture.tensors, [&](const TensorSpec& spec) {
    const std::string_view pattern = without_prefixes(spec.name);
    return spec.per_layer() &&
           without_prefixes(name).starts_with(pattern.substr(0, pattern.find("{i}")));
  });
}

bool is_buffer(std::string_view name, const Architecture& architecture) {
  return std::ranges::any_of(architecture.buffers,
                             [&](std::string_view end) { return name.ends_with(end); });
}

/// The architectures that have a tensor of this name: `Llama, Mistral, Qwen2`.
std::string architectures_with(std::string_view name) {
  std::vector<std::string_view> titles;
  for (const Architecture* const known : architectures()) {
    if (parse_tensor_name(name, known->defaults)) titles.push_back(known->title);
  }
  return joined(titles, ", ");
}

/// The number of heads of the published GPT-2 that has these shapes; 0 if none has.
Index published_n_head(const ModelConfig& config) {
  // Layers and widths of DistilGPT-2, GPT-2 small, medium, large and XL.
  constexpr std::array<std::pair<Index, Index>, 5> all{
      {{6, 768}, {12, 768}, {24, 1024}, {36, 1280}, {48, 1600}}};
  constexpr Index d_head = 64;
  // nanoGPT pads the vocabulary to 50304.
  if (config.n_ctx != 1024 ||
      (config.d_vocab != 0 && config.d_vocab != 50257 && config.d_vocab != 50304)) {
    return 0;
  }
  const bool is_published = std::ranges::count(all, std::pair(config.n_layer, config.d_model)) > 0;
  return is_published ? config.d_model / d_head : 0;
}

}  // namespace

TensorIndex::TensorIndex(const TensorSource& source, const ConfigFields& fields)
    : source_(source), architecture_(*fields.architecture) {
  const Architecture& architecture = architecture_;
  const bool keras = source.kind() == FileKind::keras_model;
  const std::string title(architecture.title);
  for (const TensorInfo& tensor : source.tensors()) {
    const auto id = keras ? parse_keras_name(tensor.name)
                          : parse_tensor_name(tensor.name, architecture.defaults);
    if (!id) {
      if (keras || is_buffer(tensor.name, architecture)) continue;
      if (is_layer_tensor(tensor.name, architecture)) {
        throw DataError(source.path(), tensor.name, "expected a tensor of " + title);
      }
      if (!tensor.name.starts_with("tokenizer/")) unread_.push_back(tensor.name);
      continue;
    }
    const auto [place, added] = found_.emplace(std::pair{id->spec, id->layer}, &tensor);
    if (!added) {
      throw DataError(source.path(), tensor.name,
                      "expected one such tensor, got also " + place->second->name);
    }
    if (id->spec->per_layer()) n_layer_ = std::max(n_layer_, id->layer + 1);
  }
  if (std::ranges::any_of(source.tensors(), is_adapter_tensor)) {
    throw adapter_refusal(source.path());
  }
  if (n_layer_ == 0) throw no_tensors();
  if (fields.tied().value_or(true)) find_embedding_of_tied_weights();
  if (&architecture != &gpt2()) return;
  const TensorInfo *const c_attn = find(tensor_spec("h.{i}.attn.c_attn.weight")),
                          *const c_fc = find(tensor_spec("h.{i}.mlp.c_fc.weight"));
  linear_ = !keras && c_attn != nullptr && c_attn->shape.size() == 2 &&
            c_attn->shape[0] == 3 * c_attn->shape[1] &&
            (c_fc == nullptr || (c_fc->shape.size() == 2 && c_fc->shape[1] == c_attn->shape[1]));
}

// Of tied weights, safetensors' save_model writes one: under the name of the unembedding, the first
// in the alphabet.
void TensorIndex::find_embedding_of_tied_weights() {
  const auto place_of = [&](Matrix Model::*member) {
    return std::pair{tensor_of(architecture_, member), Index{0}};
  };
  const auto embedding = place_of(&Model::W_E), unembedding = place_of(&Model::W_U);
  if (found_.contains(embedding) || !found_.contains(unembedding)) return;
  found_[embedding] = found_[unembedding];
  found_.erase(unembedding);
}

DataError TensorIndex::no_tensors() const {
  if (source_.kind() == FileKind::results) {
    return DataError(source_.path(), "", "expected a model, got results");
  }
  if (source_.kind() == FileKind::token_corpus) {
    return DataError(source_.path(), "", "expected a model, got a corpus of token ids");
  }
  const auto example = std::ranges::find_if(architecture_.tensors, [](const TensorSpec& spec) {
    return spec.per_layer() && spec.axes.size() == 2;
  });
  std::string expected = "expected " + std::string(architecture_.title) + " tensors such as " +
                         example->name_in(0) + ", found none";
  for (const TensorInfo& tensor : source_.tensors()) {
    const std::string titles = architectures_with(tensor.name);
    if (titles.empty() || parse_tensor_name(tensor.name, architecture_.defaults)) continue;
    expected += "; " + tensor.name + " is a tensor of " + titles +
                ", whose config.json beside the file must name the model_type";
    break;
  }
  return DataError(source_.path(), "", expected);
}

const TensorInfo* TensorIndex::find(const TensorSpec& spec, Index layer) const {
  const auto found = found_.find({&spec, layer});
  return found == found_.end() ? nullptr : found->second;
}

bool TensorIndex::is_transposed(const TensorSpec& spec) const {
  return linear_ && spec.per_layer() && spec.axes.size() == 2;
}

bool TensorIndex::is_left_out(const TensorSpec& spec) const {
  return linear_ && spec.presence != Presence::optional && spec.name.ends_with(".bias") &&
         !has_any(spec);
}

bool TensorIndex::has_any(const TensorSpec& spec) const {
  const auto next = found_.lower_bound({&spec, 0});
  return next != found_.end() && next->first.first == &spec;
}

std::optional<std::size_t> TensorIndex::extent(const char* name, std::size_t rank,
                                               std::size_t axis) const {
  const TensorSpec& spec = tensor_spec(name);
  const TensorInfo* const tensor = find(spec);
  if (tensor == nullptr) return std::nullopt;
  const Shape shape = stored_shape(*tensor, spec);
  if (shape.size() != rank) return std::nullopt;
  return shape[is_transposed(spec) ? rank - 1 - axis : axis];
}

void TensorIndex::check_agrees(const ConfigFields& fields, const char* field,
                               std::optional<Index> stated, const char* tensor,
                               std::size_t stored) const {
  if (!stated || *stated == stored) return;
  const TensorInfo& info = *find(tensor_spec(tensor));
  throw DataError(fields.file, field,
                  "expected " + std::to_string(stored) + ", as the shape " +
                      shape_text(info.shape) + " of " + info.name + " in " + source_.path() +
                      " says, got " + std::to_string(*stated));
}

void TensorIndex::check_layers(const ConfigFields& fields) const {
  const auto stated = fields.stated(&ModelConfig::n_layer);
  if (!stated || *stated == n_layer_) return;
  throw DataError(fields.file, fields.name_of(&ModelConfig::n_layer),
                  "expected " + std::to_string(n_layer_) + ", the number of layers in " +
                      source_.path() + ", got " + std::to_string(*stated));
}

ModelConfig TensorIndex::resolve(const ConfigFields& fields, const LoadOptions& options) const {
  check_n_head(fields, options);
  if (&architecture_ == &gpt2()) return resolve_gpt2(fields, options);
  const ModelConfig config = fields.config();
  check_layers(fields);
  return config;
}

ModelConfig TensorIndex::resolve_gpt2(const ConfigFields& fields,
                                      const LoadOptions& options) const {
  const char* const c_attn = "h.{i}.attn.c_attn.weight";
  const auto d_model = extent(c_attn, 2, 0);
  if (!d_model) {
    const TensorSpec& spec = tensor_spec(c_attn);
    const TensorInfo* const tensor = find(spec);
    if (tensor == nullptr) {
      throw DataError(source_.path(), spec.name_in(0), "expected 2 axes, got no such tensor");
    }
    throw DataError(source_.path(), tensor->name,
                    "expected 2 axes, got shape " + shape_text(tensor->shape));
  }
  if (extent(c_attn, 2, 1) == 3 * *d_model) {
    check_agrees(fields, "n_embd", fields.stated(&ModelConfig::d_model), c_attn, *d_model);
  }
  check_layers(fields);
  ModelConfig config = fields.values;
  config.n_layer = n_layer_;
  config.d_model = fields.stated(&ModelConfig::d_model).value_or(*d_model);
  const auto width_fits = [&](const char* name, std::size_t axis) {
    return extent(name, 2, axis) == config.d_model;
  };
  const auto resolve_extent = [&](const char* field, std::optional<Index> stated,
                                  const char* tensor, std::size_t axis) -> std::optional<Index> {
    const auto stored = extent(tensor, 2, axis);
    if (!stored) return stated;
    if (width_fits(tensor, 1 - axis)) check_agrees(fields, field, stated, tensor, *stored);
    return stated ? *stated : *stored;
  };
  config.n_ctx = resolve_extent("n_positions", fields.stated(&ModelConfig::n_ctx), "wpe.weight", 0)
                     .value_or(0);
  const char* const vocabulary =
      find(tensor_spec("wte.weight")) != nullptr ? "wte.weight" : "lm_head.weight";
  config.d_vocab =
      resolve_extent("vocab_size", fields.stated(&ModelConfig::d_vocab), vocabulary, 0).value_or(0);
  const auto d_mlp =
      resolve_extent("n_inner", fields.stated(&ModelConfig::d_mlp), "h.{i}.mlp.c_fc.weight", 1);
  config.d_mlp = d_mlp ? *d_mlp : extent("h.{i}.mlp.c_fc.bias", 1, 0).value_or(4 * config.d_model);
  // nanoGPT has torch.nn.GELU.
  if (linear_ && !fields.stated(&ModelConfig::activation)) config.activation = Activation::gelu;
  config.n_head = fields.stated(&ModelConfig::n_head).value_or(options.n_head);
  if (config.n_head == 0) config.n_head = published_n_head(config);
  if (config.n_head == 0 && !fields.file.empty()) {
    throw DataError(fields.file, "n_head", "expected a whole number, got none", Remedy::n_head);
  }
  if (config.n_head == 0) {
    throw DataError(
        source_.path(), "n_head",
        "expected a config.json beside the file or the number of heads, got neither; the "
        "shapes are those of no published GPT-2",
        Remedy::n_head);
  }
  if (find(tensor_spec("wpe.weight")) == nullptr) {
    throw DataError(source_.path(), "wpe.weight", "expected 2 axes, got no such tensor");
  }
  check_config(config, fields, fields.file.empty() ? source_.path() : fields.file);
  return config;
}

// Keras keeps vectors as one row.
Shape TensorIndex::stored_shape(const TensorInfo& tensor, const TensorSpec& spec) const {
  const bool row = source_.kind() == FileKind::keras_model && spec.axes.size() == 1 &&
                   tensor.shape.size() == 2 && tensor.shape[0] == 1;
  return row ? Shape{tensor.shape[1]} : tensor.shape;
}

void TensorIndex::check(const ModelConfig& config) const {
  const auto& specs = architecture_.tensors;
  // A file that lacks a large matrix is attention-only and may lack the others too.
  const bool complete = std::ranges::all_of(specs, [&](const TensorSpec& spec) {
    const bool large = spec.presence == Presence::complete && spec.axes.size() == 2;
    return !large || has_any(spec);
  });
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    for (const TensorSpec& spec : specs) {
      if (!spec.per_layer() && layer > 0) continue;
      const TensorInfo* const tensor = find(spec, layer);
      if (!spec.belongs_to(config)) {
        if (tensor == nullptr) continue;
        throw DataError(
            source_.path(), tensor->name,
            "expected no such tensor, as the config says, got shape " + shape_text(tensor->shape));
      }
      Shape expected = spec.stored_shape(config, layer);
      if (is_transposed(spec)) std::ranges::reverse(expected);
      if (tensor == nullptr) {
        if (is_left_out(spec)) continue;
        const bool needed = spec.presence == Presence::required ||
                            (spec.presence == Presence::complete && (complete || has_any(spec)));
        if (!needed) continue;
        throw DataError(source_.path(), spec.name_in(layer),
                        "expected shape " + shape_text(expected) + ", got no such tensor");
      }
      if (stored_shape(*tensor, spec) != expected) {
        throw DataError(
            source_.path(), tensor->name,
            "expected shape " + shape_text(expected) + ", got " + shape_text(tensor->shape));
      }
    }
  }
}

void check_n_head(const ConfigFields& fields, const LoadOptions& options) {
  const auto stated = fields.stated(&ModelConfig::n_head);
  if (options.n_head == 0 || !stated || *stated == options.n_head) return;
  throw DataError(fields.file, fields.name_of(&ModelConfig::n_head),
                  "expected " + std::to_string(options.n_head) +
                      ", the number of heads asked for, got " + std::to_string(*stated));
}

ConfigFields find_config(const TensorSource& source) {
  ConfigFields fields = source.config();
  if (!fields.file.empty()) return fields;
  const auto beside = std::filesystem::path(source.path()).replace_filename("config.json");
  std::error_code error;
  if (!std::filesystem::exists(beside, error)) return {};
  return ConfigFields::from_json_file(beside.string());
}

}  // namespace headscope
