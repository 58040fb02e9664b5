#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headscope {

/// The text as valid UTF-8: broken bytes and NUL become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Printable UTF-8 on one line: as above, and control characters and line ends become spaces.
std::string one_line(std::string_view text);

/// The text as valid UTF-8, with invalid bytes and ASCII control characters written as `\xNN`.
std::string escaped_utf8(std::string_view text);

/// The text with each byte of invalid UTF-8 replaced by U+0001: same length, always valid. Like the
/// usual replacement U+FFFD, U+0001 is no letter, number or space.
std::string with_placeholders(std::string_view text);

namespace utf8 {

/// U+FEFF, which some programs write at the beginning of a text file.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Length in bytes of the first character of `text`; 0 if it is malformed: an overlong form, a
/// surrogate or above U+10FFFF.
std::size_t character_length(std::string_view text);

/// Length of the longest valid UTF-8 prefix of `text`; text.size() if all of it is valid.
std::size_t valid_prefix(std::string_view text);

/// Whether a byte continues a character rather than begins one.
inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends a code point as UTF-8.
void append(std::string& text, char32_t code_point);

}  // namespace utf8
}  // namespace headscope
