#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace headscope {

/// Parses JSON of a file that is not trusted.
/// @return  discarded if it is malformed, nested deeper than any file that is read here (32
///          levels), or gives a key of an object twice.
nlohmann::json parse_json(std::string_view text);

/// JSON on one line; bytes of texts that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace headscope
