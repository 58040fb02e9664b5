#include "files/hdf5_file.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "model/config_fields.hpp"
#include "model/stored_tensor.hpp"

namespace headscope {
void save_model(const Model& model, const std::string& path) {
  model.config.check();
  check_count("layers of the model", model.config.n_layer, model.layers.size());
  hdf5::OutputFile file(path);
  write_config(model.config, file);
  constexpr hdf5::Storage uncompressed{.gzip_level = 0};
  for_each_tensor(model.config, [&](const TensorSpec& spec, Index layer) {
    const std::span<const float> values = tensor_values(model, spec, layer);
    if (values.empty()) return;
    const Shape stored = spec.stored_shape(model.config, layer);
    if (is_as_in_memory(spec, model.config, layer)) {
      return file.write(spec.name_in(layer), stored, values, uncompressed);
    }
    file.write(spec.name_in(layer), stored, gather_stored(values, spec, model.config, layer),
               uncompressed);
  });
  const auto write_text = [&](const char* name, const std::optional<std::string>& text) {
    if (text) file.write(name, {}, std::span<const std::string>(&*text, 1));
  };
  write_text("tokenizer/vocab", model.tokenizer_vocab);
  write_text("tokenizer/merges", model.tokenizer_merges);
  write_text("tokenizer/added_tokens", model.tokenizer_added_tokens);
  write_text("tokenizer/settings", model.tokenizer_settings);
  file.publish();
}

}  // namespace headscope
