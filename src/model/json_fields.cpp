#include "model/json_fields.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.hpp"
#include "base/number_text.hpp"

namespace headscope {

using nlohmann::json;

JsonFields::JsonFields(const json& config, std::string file)
    : config_(std::make_shared<json>(config)), file_(std::move(file)) {}

bool JsonFields::has(const char* name) const {
  return find(name) != nullptr;
}

std::optional<Index> JsonFields::count(const char* name) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (!value->is_number_integer() || *value < 1 || *value > most) {
    throw wrong(name, "a whole number from 1 to " + std::to_string(most), *value);
  }
  return value->get<Index>();
}

std::optional<Index> JsonFields::token(const char* name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_array() && !value->empty()) value = &value->front();
  if (*value == -1) return std::nullopt;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (!value->is_number_integer() || *value < 0 || *value > most) {
    throw wrong(name, "a token id", *find(name));
  }
  return value->get<Index>();
}

std::optional<double> JsonFields::real(const char* name) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) throw wrong(name, "a number", *value);
  return value->get<double>();
}

std::optional<bool> JsonFields::flag(const char* name) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  if (*value != 0 && *value != 1) throw wrong(name, "true or false", *value);
  return *value == 1;
}

std::optional<std::string> JsonFields::text(const char* name) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw wrong(name, "text", *value);
  return value->get<std::string>();
}

std::optional<std::vector<HeadIndex>> JsonFields::heads(const char* name) const {
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
  std::ranges::sort(result);
  return result;
}

std::optional<JsonFields> JsonFields::object(const char* name) const {
  const json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const json held = value->is_string() ? parse_json(value->get_ref<const std::string&>()) : *value;
  if (!held.is_object()) throw wrong(name, "a JSON object", *value);
  JsonFields fields(held, file_);
  fields.within_ = full_name(name) + ".";
  return fields;
}

DataError JsonFields::wrong(const char* name, const std::string& expected, const json& got) const {
  return DataError(file_, full_name(name), "expected " + expected + ", got " + json_text(got));
}

const json* JsonFields::find(const char* name) const {
  const auto found = config_->find(name);
  return found == config_->end() || found->is_null() ? nullptr : &*found;
}

}  // namespace headscope
