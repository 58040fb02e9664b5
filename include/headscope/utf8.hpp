#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headscope {

/// The text as valid UTF-8: broken bytes and NUL become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Printable UTF-8 on one line: as above, and control characters and line ends become spaces.
std::string one_line(std::string_view text);

/// The text as valid UTF-8 that loses nothing: each byte that is not part of any as `\xNN`, ASCII
/// control characters likewise.
std::string escaped_utf8(std::string_view text);

/// The text with each byte that is not part of well-formed UTF-8 replaced by U+0001: same length,
/// always well formed, and U+0001 is no letter, number or space, like the U+FFFD that other
/// programs put in such places.
std::string with_placeholders(std::string_view text);

namespace utf8 {

/// What some programs write at the beginning of a text file: U+FEFF.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Length in bytes of the character that begins `text`, 0 if no well-formed character does: no
/// overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t character_length(std::string_view text);

/// Length of the longest beginning of `text` that is well-formed UTF-8. Equal to text.size() when
/// all of it is.
std::size_t valid_prefix(std::string_view text);

/// Whether a byte continues a character rather than begins one.
inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends a code point as UTF-8.
void append(std::string& text, char32_t code_point);

}  // namespace utf8
}  // namespace headscope
