#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "model/config_fields.hpp"
#include "model/pruned_heads.hpp"

namespace headscope {
namespace {

void write_config(const ModelConfig& config, hdf5::OutputFile& file) {
  const auto count = [&](const char* name, Index value) {
    file.set_attribute("", name, static_cast<std::int64_t>(value));
  };
  count("n_layer", config.n_layer);
  count("n_head", config.n_head);
  count("n_embd", config.d_model);
  count("n_inner", config.d_mlp);
  count("n_positions", config.n_ctx);
  if (config.d_vocab > 0) count("vocab_size", config.d_vocab);
  file.set_attribute("", "layer_norm_epsilon", config.layer_norm_epsilon);
  file.set_attribute("", "activation_function", std::string(activation_name(config.activation)));
  count("tie_word_embeddings", config.tied_unembedding ? 1 : 0);
  if (!config.scale_by_width) count("scale_attn_weights", 0);
  if (config.scale_by_inverse_layer) count("scale_attn_by_inverse_layer_idx", 1);
  if (!config.pruned_heads.empty()) {
    file.set_attribute("", "pruned_heads", pruned_heads_text(config.pruned_heads));
  }
}

}  // namespace

void save_model(const Model& model, const std::string& path) {
  model.config.check();
  check_count("layers of the model", model.config.n_layer, model.layers.size());
  hdf5::OutputFile file(path);
  write_config(model.config, file);
  constexpr hdf5::Storage uncompressed{.gzip_level = 0};
  for_each_tensor(model.config.n_layer, [&](const TensorSpec& spec, Index layer) {
    const std::span<const float> values = tensor_values(model, spec, layer);
    if (values.empty()) return;
    const Shape stored = spec.stored_shape(model.config, layer);
    const bool is_whole = stored == spec.shape(model.config);
    file.write(spec.name_in(layer), stored,
               is_whole ? values : gather_stored(values, spec, model.config, layer), uncompressed);
  });
  const auto write_text = [&](const char* name, const std::optional<std::string>& text) {
    if (text) file.write(name, {}, std::span<const std::string>(&*text, 1));
  };
  write_text("tokenizer/vocab", model.tokenizer_vocab);
  write_text("tokenizer/merges", model.tokenizer_merges);
  write_text("tokenizer/added_tokens", model.tokenizer_added_tokens);
  file.publish();
}

}  // namespace headscope
