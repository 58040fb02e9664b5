#pragma once

#include <iterator>
#include <sstream>
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

/// The parts between runs of white space; none is empty.
inline std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The field as error messages show it.
inline std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

}  // namespace headscope::fields
