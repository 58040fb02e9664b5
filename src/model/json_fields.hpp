#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headscope/error.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// A config as JSON, for reading its fields. A field that is missing or null is none. Each function
/// throws DataError naming file, field, what was expected and what was found.
class JsonFields {
 public:
  /// @param config  a JSON object.
  JsonFields(const nlohmann::json& config, std::string file);

  bool has(const char* name) const;
  std::optional<Index> count(const char* name) const;
  /// A token id, of several the first; none where it is -1, as in configs without such a token.
  std::optional<Index> token(const char* name) const;
  std::optional<double> real(const char* name) const;
  /// HDF5 has no booleans of its own: 0 and 1 stand for them.
  std::optional<bool> flag(const char* name) const;
  std::optional<std::string> text(const char* name) const;
  /// {"5": [1, 2]}: heads by layer, ascending.
  std::optional<std::vector<HeadIndex>> heads(const char* name) const;
  /// A config within the config. An HDF5 attribute holds it as text.
  std::optional<JsonFields> object(const char* name) const;
  /// The field's name in the file: `rope_parameters.rope_theta` in a config within the config.
  std::string full_name(const char* name) const { return within_ + name; }

  DataError wrong(const char* name, const std::string& expected, const nlohmann::json& got) const;
  const std::string& file() const { return file_; }

 private:
  const nlohmann::json* find(const char* name) const;

  std::shared_ptr<const nlohmann::json> config_;
  std::string file_;
  std::string within_ = {};  ///< before names in a config within the config: `rope_parameters.`
};

}  // namespace headscope
