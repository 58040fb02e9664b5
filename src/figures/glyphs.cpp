#include "figures/glyphs.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/fields.hpp"
#include "base/utf8.hpp"
#include "figures/gnuplot.hpp"

namespace headscope {
namespace {

constexpr std::uint32_t n_code_point = 0x110000;
constexpr char32_t after_cyrillic = 0x530;
constexpr std::string_view replacement_box = "\u25A1";

/// A hexadecimal number below n_code_point, or 0.
std::uint32_t code_point_of(std::string_view digits) {
  std::uint32_t code = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  return code < n_code_point ? code : 0;
}

/// Calls `take` with the characters of a text, and with bytes that are part of none.
template <typename Take>
void for_each_character(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8::character_length(text), 1);
    take(text.substr(0, length));
    text.remove_prefix(length);
  }
}

bool needs_font(std::string_view character) {
  return character.size() > 1 && utf8::code_point(character) >= after_cyrillic;
}

}  // namespace

Glyphs read_glyphs(std::string_view ranges) {
  Glyphs glyphs;
  for (const std::string_view range : fields::split(ranges, ' ')) {
    const std::uint32_t first = code_point_of(range.substr(0, range.find('-'))),
                        last = code_point_of(range.substr(range.find('-') + 1));
    if (first == 0 || last < first) continue;
    glyphs.resize(n_code_point);
    std::fill(glyphs.begin() + first, glyphs.begin() + last + 1, true);
  }
  return glyphs;
}

std::string with_glyphs(std::string_view text, const Glyphs& glyphs) {
  if (glyphs.empty()) return std::string(text);
  std::string shown;
  for_each_character(text, [&](std::string_view character) {
    const bool is_missing = needs_font(character) && !glyphs[utf8::code_point(character)];
    shown += is_missing ? replacement_box : character;
  });
  return shown;
}

std::string with_font_glyphs(std::string_view text) {
  bool asks = false;
  for_each_character(text, [&](std::string_view character) { asks |= needs_font(character); });
  if (!asks) return std::string(text);
  static const Glyphs glyphs = read_glyphs(font_characters());
  return with_glyphs(text, glyphs);
}

}  // namespace headscope
