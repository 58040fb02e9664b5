#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// Some tokens of a document on one line, and where they lie in it, in characters. Of a character
/// that several tokens share, all of them have all bytes. The excerpt has also the rest of a
/// character or a word that was asked for in part; of a word at most 8 tokens on each side.
class Excerpt {
 public:
  /// @param tokens  the text of all tokens of the document.
  /// @param first   the first token to show; before it the excerpt never shows the first position.
  /// @param end     the token after the last one to show; at most tokens.size().
  Excerpt(const std::vector<std::string>& tokens, Index first, Index end);

  /// Without the blank that it begins with.
  std::string text() const;

  /// The first character of a token after its blank; -1 if the excerpt does not show the token.
  double start(Index token) const;
  /// The character after a token; -1 if the excerpt does not show the token.
  double end(Index token) const;
  /// The character after the word that a token begins; -1 if the excerpt does not show the token.
  double word_end(Index token) const;

  /// The text of a token that the excerpt shows, with its blank.
  std::string text_of(Index token) const;

 private:
  bool has(Index token) const { return token >= first_ && token - first_ < borders_.size() - 1; }
  /// Whether a token continues the word of the token before.
  bool continues_word(Index token) const;
  std::size_t first_byte(Index token) const;
  std::size_t end_byte(Index token) const;
  /// Characters of the text before a byte.
  double characters_before(std::size_t byte) const;

  Index first_;
  std::string bytes_;
  std::size_t blank_;                    // bytes left out at the beginning
  std::vector<std::size_t> borders_{0};  // the byte where a token begins; last, the end
};

}  // namespace headscope
