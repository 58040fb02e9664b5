#include "shell_text.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace headscope {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  if (one_line(word) == word) return "'" + escaped(word, {{'\'', "'\\''"}}) + "'";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = "$'";
  for (const char c : word) {
    if (plain.find(c) != plain.npos || c == ' ') {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', digits[byte >> 4], digits[byte & 0xF]};
  }
  return text + "'";
}

}  // namespace headscope
