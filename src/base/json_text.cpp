#include "base/json_text.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

namespace headscope {

using nlohmann::json;

json parse_json(std::string_view text) {
  constexpr std::size_t deepest = 32;
  bool acceptable = true;
  std::vector<std::unordered_set<std::string>> keys(deepest);  // of the open object at each level
  const auto check = [&](int level, json::parse_event_t event, const json& parsed) {
    const auto depth = static_cast<std::size_t>(level);
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        acceptable = acceptable && depth < deepest;
        if (acceptable) keys[depth].clear();
        break;
      case json::parse_event_t::key:
        acceptable = acceptable && keys[depth - 1].insert(parsed.get<std::string>()).second;
        break;
      default:
        break;
    }
    return acceptable;
  };
  json result = json::parse(text, check, false);
  return acceptable ? result : json(json::value_t::discarded);
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace headscope
