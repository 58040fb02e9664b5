#include "headscope/inspect.hpp"

#include <array>
#include <filesystem>

#include "model/model_files.hpp"
#include "model/tensor_index.hpp"

namespace headscope {
namespace {

bool is_model(FileKind kind) {
  return kind == FileKind::keras_model || kind == FileKind::flat_model ||
         kind == FileKind::safetensors_model;
}

ModelDescription describe_model(const TensorSource& source, const LoadOptions& options) {
  const ConfigFields fields = find_config(source);
  const TensorIndex index(source, fields);
  ModelDescription description;
  description.config = index.resolve(fields, options);
  index.check(description.config);
  description.config_file = fields.file;
  description.unread = index.unread();
  bool unembedding_bias = false;
  for (const TensorSpec& spec : fields.architecture->tensors) {
    if (!spec.belongs_to(description.config)) continue;
    const bool there = index.has_any(spec);
    if (!there && spec.presence != Presence::optional && !index.is_left_out(spec)) {
      description.missing.emplace_back(spec.name);
    }
    if (!there || spec.presence != Presence::optional) continue;
    if (spec.axes.size() == 1) unembedding_bias = true;
    // Whether it repeats the token embedding is only known once both are read.
    if (spec.axes.size() == 2) {
      description.config.tied_unembedding = fields.tied().value_or(false);
    }
  }
  for_each_tensor(description.config, [&](const TensorSpec& spec, Index layer) {
    if (!index.has_any(spec)) return;
    description.n_stored += element_count(spec.stored_shape(description.config, layer));
  });
  description.counts = parameter_counts(description.config, unembedding_bias);
  description.has_tokenizer =
      source.tokenizer_text("vocab").has_value() && source.tokenizer_text("merges").has_value();
  return description;
}

FileDescription describe_config(const std::string& path, const LoadOptions& options) {
  FileDescription description;
  description.path = path;
  description.kind = FileKind::config;
  ModelDescription& model = description.model.emplace();
  const ConfigFields fields = ConfigFields::from_json_file(path);
  check_n_head(fields, options);
  model.config = fields.config();
  model.config_file = path;
  model.counts = parameter_counts(model.config);
  description.n_byte = std::filesystem::file_size(path);
  return description;
}

}  // namespace

std::string_view file_kind_text(FileKind kind) {
  static constexpr std::array<std::string_view, 7> texts{"Keras model (HDF5)",
                                                         "model with Hugging Face names (HDF5)",
                                                         "model (safetensors)",
                                                         "config of a model",
                                                         "corpus of token ids (HDF5)",
                                                         "results",
                                                         "HDF5"};
  return texts.at(static_cast<std::size_t>(kind));
}

FileDescription describe_file(const std::string& path, const LoadOptions& options) {
  const std::string file = model_file(path);
  if (file.ends_with(".json") && !is_model_index(file)) return describe_config(file, options);
  const std::unique_ptr<TensorSource> source = open_tensor_source(file, hdf5::Digest::ignored);
  FileDescription description;
  description.path = file;
  description.kind = source->kind();
  description.n_byte = total_size(model_files(file));
  description.arrays = source->tensors();
  description.attributes = source->attributes();
  if (is_model(description.kind)) description.model = describe_model(*source, options);
  return description;
}

}  // namespace headscope
