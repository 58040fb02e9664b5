#include "model/config_fields.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/number_text.hpp"
#include "files/read_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using nlohmann::json;

/// One config, for reading its fields.
class Fields {
 public:
  Fields(const json& config, const std::string& file) : config_(config), file_(file) {}

  std::optional<Index> count(const char* name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (!value->is_number_integer() || *value < 1 || *value > most) {
      throw wrong(name, "a whole number from 1 to " + std::to_string(most), *value);
    }
    return value->get<Index>();
  }

  std::optional<double> real(const char* name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) throw wrong(name, "a number", *value);
    return value->get<double>();
  }

  // HDF5 has no booleans of its own: 0 and 1 stand for them.
  std::optional<bool> flag(const char* name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    if (*value != 0 && *value != 1) throw wrong(name, "true or false", *value);
    return *value == 1;
  }

  std::optional<std::string> text(const char* name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) throw wrong(name, "text", *value);
    return value->get<std::string>();
  }

  // {"5": [1, 2]}: heads by layer. An HDF5 attribute holds it as text.
  std::optional<std::vector<HeadIndex>> heads(const char* name) const {
    const json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    const json layers =
        value->is_string() ? parse_json(value->get_ref<const std::string&>()) : *value;
    const auto malformed = [&] {
      return wrong(name, "heads by layer, as in {\"5\": [1, 2]}", *value);
    };
    if (!layers.is_object()) throw malformed();
    std::vector<HeadIndex> result;
    for (const auto& [layer, heads] : layers.items()) {
      const auto number = parse_whole_number(layer);
      if (!number || !heads.is_array()) throw malformed();
      for (const json& head : heads) {
        if (!head.is_number_unsigned()) throw malformed();
        result.push_back({*number, head.get<Index>()});
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  DataError wrong(const char* name, const std::string& expected, const json& got) const {
    return DataError(file_, name, "expected " + expected + ", got " + json_text(got));
  }

 private:
  const json* find(const char* name) const {
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  const json& config_;
  const std::string& file_;
};

json to_json(const hdf5::Attribute& attribute) {
  return std::visit(
      [](const auto& value) {
        json converted = value;
        const bool single = converted.is_array() && converted.size() == 1;
        return single ? converted[0] : converted;
      },
      attribute);
}

// The error of a field, `FIELD: PROBLEM`, as one of its file.
DataError as_data_error(const OptionError& error, const std::string& file) {
  const std::string text = error.what();
  const std::size_t colon = text.find(": ");
  return DataError(file, text.substr(0, colon), text.substr(colon + 2));
}

std::optional<Activation> parse_activation_field(const Fields& fields, const std::string& file) {
  const auto name = fields.text("activation_function");
  if (!name) return std::nullopt;
  try {
    return parse_activation(*name);
  } catch (const OptionError& error) {
    throw as_data_error(error, file);
  }
}

}  // namespace

ConfigFields ConfigFields::from_json(const json& config, const std::string& file) {
  const Fields fields(config, file);
  const auto type = fields.text("model_type");
  if (type && *type != "gpt2") throw fields.wrong("model_type", "\"gpt2\"", *type);
  if (fields.flag("add_cross_attention").value_or(false)) {
    throw fields.wrong("add_cross_attention", "false", true);
  }
  ConfigFields result;
  result.file = file;
  result.n_layer = fields.count("n_layer");
  result.n_head = fields.count("n_head");
  result.n_embd = fields.count("n_embd");
  result.n_inner = fields.count("n_inner");
  result.n_positions = fields.count("n_positions");
  if (!result.n_positions) result.n_positions = fields.count("n_ctx");
  result.vocab_size = fields.count("vocab_size");
  result.layer_norm_epsilon = fields.real("layer_norm_epsilon");
  result.activation_function = parse_activation_field(fields, file);
  result.tie_word_embeddings = fields.flag("tie_word_embeddings");
  result.scale_attn_weights = fields.flag("scale_attn_weights");
  result.scale_attn_by_inverse_layer_idx = fields.flag("scale_attn_by_inverse_layer_idx");
  result.pruned_heads = fields.heads("pruned_heads");
  return result;
}

ConfigFields ConfigFields::from_json_file(const std::string& path) {
  const json config = parse_json(read_file(path));
  if (!config.is_object()) throw DataError(path, "", "expected a JSON object");
  return from_json(config, path);
}

ConfigFields ConfigFields::from_attributes(const hdf5::InputFile& file) {
  json config = json::object();
  for (const std::string& name : file.attribute_names("")) {
    if (const auto value = file.attribute("", name)) config[name] = to_json(*value);
  }
  if (!config.contains("n_layer") && !config.contains("n_head") && !config.contains("n_embd")) {
    return {};
  }
  return from_json(config, file.path());
}

std::string pruned_heads_text(const std::vector<HeadIndex>& heads) {
  json layers = json::object();
  for (const HeadIndex head : heads) layers[std::to_string(head.layer)].push_back(head.head);
  return layers.dump();
}

void check_config(const ModelConfig& config, const std::string& file) {
  try {
    config.check();
  } catch (const OptionError& error) {
    throw as_data_error(error, file);
  }
}

ModelConfig ConfigFields::config() const {
  const auto needed = [&](const char* name, const std::optional<Index>& value) {
    if (!value) throw DataError(file, name, "expected a whole number, got none");
    return *value;
  };
  ModelConfig config;
  config.n_layer = needed("n_layer", n_layer);
  config.n_head = needed("n_head", n_head);
  config.d_model = needed("n_embd", n_embd);
  config.d_mlp = n_inner.value_or(4 * config.d_model);
  config.n_ctx = needed("n_positions", n_positions);
  config.d_vocab = needed("vocab_size", vocab_size);
  config.layer_norm_epsilon = layer_norm_epsilon.value_or(config.layer_norm_epsilon);
  config.activation = activation_function.value_or(config.activation);
  config.tied_unembedding = tie_word_embeddings.value_or(true);
  config.scale_by_width = scale_attn_weights.value_or(true);
  config.scale_by_inverse_layer = scale_attn_by_inverse_layer_idx.value_or(false);
  config.pruned_heads = pruned_heads.value_or(std::vector<HeadIndex>());
  check_config(config, file);
  return config;
}

}  // namespace headscope
