#include "base/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace headscope {
namespace {

constexpr std::string_view replacement = "\uFFFD";

// Replaces each character, and each byte that is part of none.
// @param replace  called with the bytes and whether they are a character.
template <typename Replace>
std::string replaced(std::string_view text, Replace replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8::character_length(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(length, 1));
    result += replace(bytes, length > 0);
    text.remove_prefix(bytes.size());
  }
  return result;
}

// Where the character begins that has the byte at `place`.
std::size_t character_at(std::string_view text, std::size_t place) {
  while (place > 0 && utf8::is_continuation(text[place])) --place;
  return place;
}

bool is_ascii_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F;
}

// Also C1 controls, line and paragraph separators, characters that set the direction of the text
// after them, and the two non-characters XML refuses.
bool is_control(std::string_view character) {
  const auto between = [&](std::string_view first, std::string_view last) {
    return character.size() == last.size() && character >= first && character <= last;
  };
  return is_ascii_control(character) || between("\u0080", "\u009F") ||
         between("\u2028", "\u202E") || between("\u2066", "\u2069") || between("\uFFFE", "\uFFFF");
}

}  // namespace

bool utf8::is_word_byte(char byte) {
  return static_cast<unsigned char>(byte) >= 0x80 ||
         std::isalnum(static_cast<unsigned char>(byte)) != 0;
}

bool utf8::begins_with_letter(std::string_view text) {
  const std::size_t length = character_length(text);
  if (length == 0) return false;
  const utf8proc_category_t category =
      utf8proc_category(static_cast<utf8proc_int32_t>(code_point(text.substr(0, length))));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

std::size_t utf8::character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  // The second byte reveals overlong forms, surrogates and code points above U+10FFFF.
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

char32_t utf8::code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  const std::size_t length = character.size();
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  return code;
}

std::size_t utf8::valid_prefix(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t position = 0;
  for (;;) {
    // Eight bytes of ASCII at a time.
    std::uint64_t bytes = 0;
    while (text.size() - position >= sizeof bytes) {
      std::memcpy(&bytes, text.data() + position, sizeof bytes);
      if ((bytes & high_bits) != 0) break;
      position += sizeof bytes;
    }
    const std::size_t length = character_length(text.substr(position));
    if (length == 0) return position;
    position += length;
  }
}

void utf8::append(std::string& text, char32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text.append(bytes, bytes + length);
}

std::string valid_utf8(std::string_view text) {
  return replaced(text, [](std::string_view bytes, bool is_character) {
    return is_character && bytes[0] != '\0' ? bytes : replacement;
  });
}

std::string one_line(std::string_view text) {
  return replaced(text, [](std::string_view bytes, bool is_character) {
    if (!is_character || bytes[0] == '\0') return replacement;
    return is_control(bytes) ? std::string_view(" ") : bytes;
  });
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t end = character_at(text, most / 2),
                    begin = character_at(text, text.size() - most / 2);
  const std::string mark = " [... " + std::to_string(begin - end) + " bytes ...] ";
  if (mark.size() >= begin - end) return std::string(text);
  return std::string(text.substr(0, end)) + mark + std::string(text.substr(begin));
}

std::string cut_at_word(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t blank = text.rfind(' ', most);
  const std::size_t end = blank == text.npos ? text.npos : text.find_last_not_of(' ', blank);
  if (end == text.npos) return std::string(text.substr(0, character_at(text, most))) + "…";
  return std::string(text.substr(0, end + 1)) + " …";
}

std::string escaped_utf8(std::string_view text) {
  return replaced(text, [](std::string_view bytes, bool is_character) {
    if (is_character && !is_ascii_control(bytes)) return std::string(bytes);
    constexpr char digits[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(bytes[0]);
    return std::string{'\\', 'x', digits[byte >> 4], digits[byte & 0xF]};
  });
}

std::string unescaped_utf8(std::string_view text) {
  constexpr std::size_t n_escape = 4;
  std::string bytes;
  while (!text.empty()) {
    const std::string_view digits = text.substr(std::min(text.size(), std::size_t{2}), 2);
    unsigned byte = 0;
    const bool is_escape =
        text.starts_with("\\x") && digits.size() == 2 &&
        std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2;
    bytes += is_escape ? static_cast<char>(byte) : text[0];
    text.remove_prefix(is_escape ? n_escape : 1);
  }
  return bytes;
}

std::string with_placeholders(std::string_view text) {
  if (utf8::valid_prefix(text) == text.size()) return std::string(text);
  return replaced(text, [](std::string_view bytes, bool is_character) {
    return is_character ? bytes : std::string_view("\x01");
  });
}

}  // namespace headscope
