#include <algorithm>
#include <new>

#include "files/file_version.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "model/model_files.hpp"
#include "model/stored_tensor.hpp"
#include "model/tensor_index.hpp"

namespace headscope {
namespace {

// Pruned heads take memory but no bytes of the file, so a small file could claim any size.
void check_pruned_size(const Model& model) {
  if (model.config.pruned_heads.empty()) return;
  constexpr std::size_t greatest_ratio = 1100;  // as for compressed data
  const std::uintmax_t n_byte = total_size(model_files(model.path));
  for (const TensorSpec& spec : tensors_of(model.config)) {
    const Shape shape = spec.shape(model.config);
    if (!spec.per_layer() || shape.size() != 2) continue;
    if (element_count(shape) / (greatest_ratio / sizeof(float)) <= n_byte) continue;
    throw DataError(model.path, spec.name,
                    "expected a file that pruning made smaller, got " + std::to_string(n_byte) +
                        " bytes for a model with matrices of shape " + shape_text(shape));
  }
}

void read_tensors(const TensorSource& source, const TensorIndex& index, Model& model) {
  for_each_tensor(model.config, [&](const TensorSpec& spec, Index layer) {
    const TensorInfo* const tensor = index.find(spec, layer);
    if (tensor == nullptr) {
      if (!index.is_left_out(spec)) return;
      allocate_tensor(model, spec, layer);
      std::ranges::fill(tensor_values(model, spec, layer), 0.0F);
      return;
    }
    source.check_size(*tensor);
    try {
      const bool first_part = tensor_values(model, spec, layer).empty();
      allocate_tensor(model, spec, layer);
      if (first_part && !is_as_in_memory(spec, model.config, layer)) {
        std::ranges::fill(tensor_values(model, spec, layer), 0.0F);
      }
    } catch (const std::bad_alloc&) {
      throw DataError(source.path(), tensor->name,
                      "shape " + shape_text(tensor->shape) + " needs more memory than there is");
    }
    const std::span<float> values = tensor_values(model, spec, layer);
    const Shape stored = spec.stored_shape(model.config, layer);
    if (!index.is_transposed(spec) && is_as_in_memory(spec, model.config, layer)) {
      return source.read(*tensor, values);
    }
    std::vector<float> kept(element_count(stored));
    source.read(*tensor, kept);
    if (index.is_transposed(spec)) {
      const Matrix reversed(kept.data(), stored[0], stored[1]);
      Matrix(kept.data(), stored[1], stored[0], false, true) = reversed.t();
    }
    spread_stored(kept, spec, model.config, layer, values);
  });
}

// The tensor's name in the files of the architecture.
std::string name_of(const Architecture& architecture, Matrix Model::*member) {
  const TensorSpec* const spec = tensor_of(architecture, member);
  return std::string(spec == nullptr ? "" : spec->name);
}

// Whether the unembedding is the token embedding, and what says so.
std::string tied_text(const ConfigFields& fields) {
  const std::string field = fields.name_of(&ModelConfig::tied_unembedding);
  if (const auto stated = fields.stated(&ModelConfig::tied_unembedding)) {
    return field + " is " + (*stated ? "true" : "false") + " in " + fields.file;
  }
  return field + " is " + (fields.tied() == true ? "true" : "false") + " by default for " +
         std::string(fields.architecture->title);
}

// Hugging Face writes the unembedding even if it is the token embedding.
void settle_unembedding(const ConfigFields& fields, Model& model) {
  const auto stated = fields.tied();
  if (model.W_U.empty()) {
    if (stated == false && !model.W_E.empty()) {
      throw DataError(model.path, name_of(*fields.architecture, &Model::W_U),
                      "expected a tensor, since " + tied_text(fields) + ", got no such tensor");
    }
    return;
  }
  const bool same =
      std::equal(model.W_U.begin(), model.W_U.end(), model.W_E.begin(), model.W_E.end());
  if (stated == true && !same && !model.W_E.empty()) {
    throw DataError(model.path, name_of(*fields.architecture, &Model::W_U),
                    "expected the values of " + name_of(*fields.architecture, &Model::W_E) +
                        ", since " + tied_text(fields));
  }
  model.config.tied_unembedding = stated.value_or(same);
  if (model.config.tied_unembedding) model.W_U.reset();
}

Model load_opened(const std::string& path, const LoadOptions& options) {
  const std::unique_ptr<TensorSource> source = open_tensor_source(path);
  const ConfigFields fields = find_config(*source);
  const TensorIndex index(*source, fields);
  Model model;
  model.path = path;
  model.config = index.resolve(fields, options);
  index.check(model.config);
  check_pruned_size(model);
  model.layers.resize(model.config.n_layer);
  read_tensors(*source, index, model);
  settle_unembedding(fields, model);
  model.unread = index.unread();
  model.tokenizer_vocab = source->tokenizer_text("vocab");
  model.tokenizer_merges = source->tokenizer_text("merges");
  model.tokenizer_added_tokens = source->tokenizer_text("added_tokens");
  model.tokenizer_settings = source->tokenizer_text("settings");
  Sha256 hash;
  for (const std::string& file : model_files(path)) hash.add_file(file);
  model.sha256 = hash.finish();
  return model;
}

}  // namespace

Model load_model(const std::string& path, const LoadOptions& options) {
  const std::string file = model_file(path);
  std::vector<FileVersion> versions;
  for (const std::string& part : model_files(file)) versions.emplace_back(part);
  return during(versions, [&] { return load_opened(file, options); });
}

}  // namespace headscope
