#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace headscope {

/// A list of what the function or member gives for each item.
template <typename Items, typename Value>
nlohmann::json json_list(const Items& items, const Value& value) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& item : items) list.push_back(std::invoke(value, item));
  return list;
}

/// A number in at most `digits` significant digits, null where it is not finite.
nlohmann::json json_number(double value, int digits = 4);
nlohmann::json json_numbers(const std::vector<double>& values);

/// Two bytes a value, the lower first: 0 for a missing one, else 1 to 65535 from `low` to `high`.
nlohmann::json packed_numbers(std::span<const double> values);

/// Each text on one line, valid UTF-8.
nlohmann::json json_texts(const std::vector<std::string>& texts);

/// Bytes as ASCII, RFC 4648.
std::string base64(const std::vector<unsigned char>& bytes);

/// JSON that cannot end a `script` element or begin a comment in it.
std::string script_json(const nlohmann::json& data);

}  // namespace headscope
