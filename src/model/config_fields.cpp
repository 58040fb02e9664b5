#include "model/config_fields.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "files/read_file.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "model/json_fields.hpp"

namespace headscope {
namespace {

using nlohmann::json;

json to_json(const hdf5::Attribute& attribute) {
  return std::visit(
      [](const auto& value) {
        json converted = value;
        const bool single = converted.is_array() && converted.size() == 1;
        return single ? converted[0] : converted;
      },
      attribute);
}

const Architecture& read_architecture(const JsonFields& fields) {
  for (const char* const experts : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (fields.real(experts) > 1) {
      throw fields.wrong(experts, "a model without experts", *fields.count(experts));
    }
  }
  if (fields.flag("is_causal") == false) {
    throw fields.wrong("is_causal", "true, since queries attend to no later key", false);
  }
  if (const auto quantized = fields.object("quantization_config")) {
    throw fields.wrong("quantization_config", "weights that are not quantized",
                       quantized->text("quant_method").value_or("quantized weights"));
  }
  const auto type = fields.text("model_type");
  if (!type) return gpt2();
  const Architecture* const found = find_architecture(*type);
  if (found == nullptr) throw fields.wrong("model_type", architecture_names(), *type);
  return *found;
}

// The members of a config that a field may hold, read by its kind.
void read_member(const JsonFields& fields, const ConfigField& field, ModelConfig& config) {
  const std::string name(field.name);
  const char* const key = name.c_str();
  std::visit(
      [&](auto member) {
        using Member = decltype(member);
        if constexpr (std::is_same_v<Member, Index ModelConfig::*>) {
          config.*member = *fields.count(key);
        } else if constexpr (std::is_same_v<Member, double ModelConfig::*>) {
          config.*member = *fields.real(key);
        } else if constexpr (std::is_same_v<Member, double Rotary::*>) {
          config.rotary.*member = *fields.real(key);
        } else if constexpr (std::is_same_v<Member, bool ModelConfig::*>) {
          config.*member = *fields.flag(key);
        } else {
          try {
            config.*member = parse_activation(*fields.text(key));
          } catch (const OptionError& error) {
            throw DataError(fields.file(), name, error.problem());
          }
        }
      },
      field.member);
}

// Whether an earlier field of the table holds the same member.
bool is_older_name(const Architecture& architecture, const ConfigField& field) {
  for (const ConfigField& earlier : architecture.fields) {
    if (&earlier == &field) return false;
    if (earlier.member == field.member) return true;
  }
  return false;
}

// What ModelConfig::check calls the members that fields hold.
const std::map<std::string_view, ConfigMember>& checked_members() {
  using C = ModelConfig;
  static const std::map<std::string_view, ConfigMember> members{
      {"n_layer", &C::n_layer},
      {"n_head", &C::n_head},
      {"n_kv_head", &C::n_kv_head},
      {"head_width", &C::head_width},
      {"d_model", &C::d_model},
      {"d_mlp", &C::d_mlp},
      {"n_ctx", &C::n_ctx},
      {"d_vocab", &C::d_vocab},
      {"layer_norm_epsilon", &C::layer_norm_epsilon},
      {"rotary theta", &Rotary::theta},
      {"rotary share", &Rotary::share}};
  return members;
}

using Attributes = std::vector<std::pair<std::string, hdf5::Attribute>>;

// The root attributes that a model file states a config with.
Attributes attributes_of(const ModelConfig& config) {
  const Architecture& architecture = architecture_of(config);
  Attributes attributes;
  const auto count = [&](const std::string& name, std::uint64_t value) {
    attributes.emplace_back(name, static_cast<std::int64_t>(value));
  };
  const ModelConfig& defaults = architecture.defaults;
  if (&architecture != &gpt2()) attributes.emplace_back("model_type", config.architecture);
  std::set<std::string> written;
  for (const ConfigField& field : architecture.fields) {
    const std::string name(field.name);
    if (is_older_name(architecture, field) || !written.insert(name).second) continue;
    std::visit(
        [&](auto member) {
          using Member = decltype(member);
          if constexpr (std::is_same_v<Member, Index ModelConfig::*>) {
            if (config.*member > 0) count(name, config.*member);
          } else if constexpr (std::is_same_v<Member, double ModelConfig::*>) {
            attributes.emplace_back(name, config.*member);
          } else if constexpr (std::is_same_v<Member, double Rotary::*>) {
            attributes.emplace_back(name, config.rotary.*member);
          } else if constexpr (std::is_same_v<Member, bool ModelConfig::*>) {
            const bool always = member == &ModelConfig::tied_unembedding;
            if (always || config.*member != defaults.*member) count(name, config.*member ? 1 : 0);
          } else {
            attributes.emplace_back(name, std::string(activation_name(config.*member)));
          }
        },
        field.member);
  }
  const std::string scaling = rotary_scaling_text(config.rotary);
  if (!scaling.empty()) attributes.emplace_back("rope_scaling", scaling);
  if (config.first_token) count("bos_token_id", *config.first_token);
  if (config.window_bounds_context) {
    count("sliding_window", config.n_ctx);
    count("use_sliding_window", 1);
  }
  if (config.pruned_heads.empty()) return attributes;
  json layers = json::object();
  for (const HeadIndex head : config.pruned_heads) {
    layers[std::to_string(head.layer)].push_back(head.head);
  }
  attributes.emplace_back("pruned_heads", layers.dump());
  return attributes;
}

}  // namespace

std::string ConfigFields::name_of(const ConfigMember& member) const {
  for (const auto& [rotary_member, name] : rotary_names) {
    if (member == ConfigMember(rotary_member)) return name;
  }
  std::string_view first;
  for (const ConfigField& field : architecture->fields) {
    if (field.member != member) continue;
    if (stated_fields.contains(&field)) return std::string(field.name);
    if (first.empty()) first = field.name;
  }
  return std::string(first);
}

std::optional<bool> ConfigFields::tied() const {
  const auto stated_tied = stated(&ModelConfig::tied_unembedding);
  const bool weights_tell = stated_tied || architecture == &gpt2();
  return weights_tell ? stated_tied : architecture->defaults.tied_unembedding;
}

ConfigFields ConfigFields::from_json(const json& config, const std::string& file) {
  const JsonFields fields(config, file);
  ConfigFields result;
  result.file = file;
  result.architecture = &read_architecture(fields);
  const Architecture& architecture = *result.architecture;
  if (fields.flag("add_cross_attention").value_or(false)) {
    throw fields.wrong("add_cross_attention", "false", true);
  }
  ModelConfig& values = result.values;
  values = architecture.defaults;
  for (const ConfigField& field : architecture.fields) {
    if (!fields.has(std::string(field.name).c_str())) continue;
    const bool known = std::ranges::any_of(result.stated_fields, [&](const ConfigField* earlier) {
      return earlier->member == field.member;
    });
    if (known) continue;
    read_member(fields, field, values);
    result.stated_fields.insert(&field);
  }
  if (values.positions == PositionKind::rotary) {
    result.rotary_names = read_rotary(fields, values.rotary);
  }
  if (architecture.window != nullptr) {
    const std::optional<Index> window = architecture.window(fields);
    // A piece of at most a window's tokens is computed as without the window.
    values.window_bounds_context = window && *window <= values.n_ctx;
    if (values.window_bounds_context) values.n_ctx = *window;
  }
  values.first_token = fields.token("bos_token_id");
  if (const auto code = fields.object("auto_map")) {
    for (const char* const kind : {"AutoModel", "AutoModelForCausalLM"}) {
      if (code->has(kind)) values.model_code = *code->text(kind);
    }
  }
  if (const auto heads = fields.heads("pruned_heads")) values.pruned_heads = *heads;
  return result;
}

ConfigFields ConfigFields::from_json_file(const std::string& path) {
  const json config = parse_json(read_file(path), path);
  if (!config.is_object()) throw DataError(path, "", "expected a JSON object");
  return from_json(config, path);
}

ConfigFields ConfigFields::from_attributes(const hdf5::InputFile& file) {
  json config = json::object();
  for (const std::string& name : file.attribute_names("")) {
    if (const auto value = file.attribute("", name)) config[name] = to_json(*value);
  }
  for (const char* const name : {"model_type", "n_layer", "n_head", "n_embd"}) {
    if (config.contains(name)) return from_json(config, file.path());
  }
  return {};
}

void write_config(const ModelConfig& config, hdf5::OutputFile& file) {
  for (const auto& [name, value] : attributes_of(config)) file.set_attribute("", name, value);
}

std::string config_sha256(const ModelConfig& config) {
  json fields = json::object();
  for (const auto& [name, value] : attributes_of(config)) fields[name] = to_json(value);
  Sha256 hash;
  hash.add(fields.dump());
  return hash.finish();
}

void check_config(const ModelConfig& config, const ConfigFields& fields, const std::string& file) {
  const auto name_of = [&](std::string_view member) {
    const auto found = checked_members().find(member);
    return found == checked_members().end() ? std::string(member) : fields.name_of(found->second);
  };
  try {
    config.check(name_of);
  } catch (const OptionError& error) {
    throw DataError(file, error.option(), error.problem());
  }
}

ModelConfig ConfigFields::config() const {
  for (const ConfigField& field : architecture->fields) {
    const auto* const member = std::get_if<Index ModelConfig::*>(&field.member);
    if (!field.required || member == nullptr || values.*(*member) > 0) continue;
    throw DataError(file, std::string(field.name), "expected a whole number, got none");
  }
  ModelConfig config = values;
  if (config.d_mlp == 0) config.d_mlp = 4 * config.d_model;
  config.tied_unembedding = tied().value_or(true);
  check_config(config, *this, file);
  return config;
}

}  // namespace headscope
