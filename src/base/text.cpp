#include "base/text.hpp"

#include <algorithm>

namespace headscope {
namespace {

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

std::string escaped(std::string_view text,
                    std::initializer_list<std::pair<char, std::string_view>> table) {
  std::string safe;
  for (const char c : text) {
    const auto* const found =
        std::ranges::find(table, c, &std::pair<char, std::string_view>::first);
    if (found == table.end()) {
      safe += c;
    } else {
      safe += found->second;
    }
  }
  return safe;
}

bool replace_all(std::string& text, std::string_view from, std::string_view to) {
  bool is_found = false;
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
    is_found = true;
  }
  return is_found;
}

std::string plain_name(std::string text, char other) {
  std::ranges::replace_if(
      text,
      [](char c) {
        return !(is_capital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
      },
      other);
  return text;
}

std::string lower_ascii(std::string text) {
  for (char& c : text) c = is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace headscope
