#include "headscope/label_text.hpp"

#include <algorithm>

#include "headscope/utf8.hpp"

namespace headscope {

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<std::string> spaced(std::vector<std::string> names) {
  for (std::string& name : names) name = spaced(std::move(name));
  return names;
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !utf8::is_continuation(byte); }));
}

}  // namespace headscope
