#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "files/hdf5_file.hpp"
#include "model/architecture/architecture.hpp"

namespace headscope {

/// What a model file, or the `config.json` beside it, says about the model's shape.
struct ConfigFields {
  std::string file;  ///< that the fields come from; empty if none
  const Architecture* architecture = &gpt2();
  ModelConfig values;                          ///< the architecture's defaults where none is stated
  std::set<const ConfigField*> stated_fields;  ///< of the architecture
  RotaryNames rotary_names;                    ///< of fields that override those

  /// The value of a member that the config states. Else none.
  template <typename T>
  std::optional<T> stated(T ModelConfig::*member) const {
    for (const ConfigField* const field : stated_fields) {
      const auto* const held = std::get_if<T ModelConfig::*>(&field->member);
      if (held != nullptr && *held == member) return values.*member;
    }
    return std::nullopt;
  }
  /// The name of the field that states a member, else of the one that may; empty if none may.
  std::string name_of(const ConfigMember& member) const;
  /// Whether the unembedding is the token embedding; none where only the weights tell.
  std::optional<bool> tied() const;

  /// Hugging Face's config. @throws DataError naming file and field: a value of the wrong kind, out
  /// of range, or one that changes what attention computes.
  static ConfigFields from_json(const nlohmann::json& config, const std::string& file);
  /// @throws DataError also if the file cannot be read or is not JSON.
  static ConfigFields from_json_file(const std::string& path);
  /// Root attributes of a model file; empty fields if none belongs to a config.
  static ConfigFields from_attributes(const hdf5::InputFile& file);

  /// The shape of a model from its config alone.
  /// @throws DataError if layers, heads, width, context or vocabulary are not given or do not fit
  /// together.
  ModelConfig config() const;
};

/// Writes the fields that from_attributes reads.
void write_config(const ModelConfig& config, hdf5::OutputFile& file);

/// SHA-256 over the names and values of the fields that write_config writes, lower-case
/// hexadecimal.
std::string config_sha256(const ModelConfig& config);

/// ModelConfig::check of a config that comes from the fields.
/// @throws DataError naming the file and the file's field.
void check_config(const ModelConfig& config, const ConfigFields& fields, const std::string& file);

}  // namespace headscope
