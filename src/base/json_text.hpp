#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace headscope {

/// Parses JSON from an untrusted file.
/// @return  discarded if it is malformed, nested more than 32 levels deep (more than any file read
///          here), or repeats a key within an object.
nlohmann::json parse_json(std::string_view text);

/// Parses the text of a file.
/// @throws DataError naming `source` and why parse_json discards the text.
nlohmann::json parse_json(std::string_view text, const std::string& source);

/// Why parse_json discards a text, as what was found: `the key "a" twice`, `a lone surrogate, half
/// of a character`, `more than 32 levels`, `unfinished or other text`; empty if it does not.
std::string json_fault(std::string_view text);

/// JSON on one line; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace headscope
