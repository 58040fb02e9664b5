#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Fields of a line of text.
namespace headscope::fields {

/// The parts between separators; one empty part for empty text.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The field as error messages show it.
inline std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace headscope::fields
