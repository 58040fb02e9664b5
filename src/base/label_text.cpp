#include "base/label_text.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace headscope {

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::vector<std::string> spaced(std::vector<std::string> names) {
  for (std::string& name : names) name = spaced(std::move(name));
  return names;
}

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

// A clitic begins with an apostrophe.
bool begins_like_a_word(std::string_view token) {
  return utf8::begins_with_letter(token) ||
         (token.starts_with('\'') && utf8::begins_with_letter(token.substr(1)));
}

bool is_special(std::string_view token) {
  return (token.starts_with("<|") && token.ends_with("|>")) || token == "<s>" || token == "<bos>";
}

}  // namespace

std::string token_label(std::string_view token, std::string_view before) {
  const std::size_t begin = token.find_first_not_of(blanks);
  if (begin == token.npos) return token.find('\n') == token.npos ? "␣" : "↵";
  const std::string_view text = token.substr(begin, token.find_last_not_of(blanks) + 1 - begin);
  const bool apart = begin > 0 || before.empty() || is_special(before) ||
                     blanks.find(before.back()) != blanks.npos;
  return (!apart && begins_like_a_word(text) ? "‿" : "") + std::string(text);
}

std::vector<std::string> token_labels(const std::vector<std::string>& tokens) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    labels.push_back(token_label(tokens[i], i == 0 ? "" : tokens[i - 1]));
  }
  return labels;
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !utf8::is_continuation(byte); }));
}

}  // namespace headscope
