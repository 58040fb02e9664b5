#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headscope {

/// The text as valid UTF-8: broken bytes and NUL become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Printable UTF-8 on one line: as above, and control characters, line ends and characters that set
/// the direction of the text after them (U+202A to U+202E, U+2066 to U+2069) become spaces.
std::string one_line(std::string_view text);

/// The text with its middle left out, and the number of bytes left out in its place, if it has more
/// than `most` bytes and becomes shorter so.
std::string shortened(std::string_view text, std::size_t most);

/// The words in the first `most` bytes of a text on one line, and `…` if it has more:
/// `One day Tom went to the …`. A text without a blank in them is cut within a word.
std::string cut_at_word(std::string_view text, std::size_t most);

/// The text as valid UTF-8, with invalid bytes and ASCII control characters written as `\xNN`.
std::string escaped_utf8(std::string_view text);
/// The bytes of which escaped_utf8 made a text; a `\xNN` that stood in them becomes a byte too.
std::string unescaped_utf8(std::string_view text);

/// The text with each byte of invalid UTF-8 replaced by U+0001: same length, always valid. Like the
/// usual replacement U+FFFD, U+0001 is no letter, number or space.
std::string with_placeholders(std::string_view text);

namespace utf8 {

/// U+FEFF, which some programs write at the beginning of a text file.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Length in bytes of the first character of `text`; 0 if it is malformed: an overlong form, a
/// surrogate or above U+10FFFF.
std::size_t character_length(std::string_view text);

/// The code point of a single valid character.
char32_t code_point(std::string_view character);

/// Length of the longest valid UTF-8 prefix of `text`; text.size() if all of it is valid.
std::size_t valid_prefix(std::string_view text);

/// Whether a byte continues a character rather than begins one.
inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Whether a character that begins with the byte counts as part of a word: a letter or digit of
/// ASCII, or any character beyond it.
bool is_word_byte(char byte);

/// Whether the text begins with a letter or number of any script.
bool begins_with_letter(std::string_view text);

/// Appends a code point as UTF-8.
void append(std::string& text, char32_t code_point);

}  // namespace utf8
}  // namespace headscope
