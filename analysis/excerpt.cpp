#include "excerpt.hpp"

#include <algorithm>

#include "base/label_text.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

constexpr Index most_rest_of_word = 8;  // tokens

}  // namespace

Excerpt::Excerpt(const std::vector<std::string>& tokens, Index first, Index end) : first_(first) {
  // Whether a token's text goes on with a character or a word of the text before.
  const auto goes_on = [&](Index token, Index n_more) {
    if (token == 0 || token >= tokens.size() || tokens[token].empty()) return false;
    const std::string &text = tokens[token], &before = tokens[token - 1];
    return utf8::is_continuation(text.front()) ||
           (n_more < most_rest_of_word && !before.empty() && utf8::is_word_byte(before.back()) &&
            utf8::is_word_byte(text.front()));
  };
  for (Index n_more = 0; first_ > 1 && goes_on(first_, n_more); ++n_more) --first_;
  for (Index n_more = 0; goes_on(end, n_more); ++n_more) ++end;
  for (Index token = first_; token < end; ++token) {
    bytes_ += tokens[token];
    borders_.push_back(bytes_.size());
  }
  blank_ = bytes_.starts_with(' ') ? 1 : 0;
}

std::string Excerpt::text() const {
  return one_line(std::string_view(bytes_).substr(blank_));
}

double Excerpt::start(Index token) const {
  if (!has(token)) return -1;
  const std::size_t byte = first_byte(token);
  return characters_before(bytes_[byte] == ' ' ? byte + 1 : byte);
}

double Excerpt::end(Index token) const {
  return has(token) ? characters_before(end_byte(token)) : -1;
}

double Excerpt::word_end(Index token) const {
  while (has(token) && continues_word(token + 1)) ++token;
  return end(token);
}

std::string Excerpt::text_of(Index token) const {
  const std::size_t byte = first_byte(token);
  return one_line(std::string_view(bytes_).substr(byte, end_byte(token) - byte));
}

bool Excerpt::continues_word(Index token) const {
  return has(token) && borders_[token - first_] < borders_[token - first_ + 1] &&
         utf8::is_word_byte(bytes_[borders_[token - first_]]);
}

std::size_t Excerpt::first_byte(Index token) const {
  std::size_t byte = borders_[token - first_];
  while (byte > 0 && byte < bytes_.size() && utf8::is_continuation(bytes_[byte])) --byte;
  return byte;
}

std::size_t Excerpt::end_byte(Index token) const {
  std::size_t byte = borders_[token - first_ + 1];
  while (byte < bytes_.size() && utf8::is_continuation(bytes_[byte])) ++byte;
  return byte;
}

double Excerpt::characters_before(std::size_t byte) const {
  const std::string_view before = std::string_view(bytes_).substr(0, byte);
  return static_cast<double>(
      character_count(one_line(before.substr(std::min(blank_, before.size())))));
}

}  // namespace headscope
