#include "corpus/gpt2_split.hpp"

#include <array>
#include <string>

namespace headscope {
namespace {

// GPT-2's pattern. White space is spelled out as Unicode's White_Space property, since PCRE2's \s
// also takes U+180E.
const UnicodePattern& splitting_pattern() {
  static const std::string space =
      R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  static const UnicodePattern pattern(R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}++| ?\p{N}++| ?[^)" + space +
                                      R"(\p{L}\p{N}]++|[)" + space + "]+(?![^" + space + "])|[" +
                                      space + "]++");
  return pattern;
}

enum class Kind : unsigned char { wide, letter, number, space, other, end };

// By byte; a byte of a character beyond ASCII is `wide`.
constexpr std::array<Kind, 256> kinds = [] {
  std::array<Kind, 256> all{};
  for (std::size_t byte = 0; byte < 0x80; ++byte) {
    const char c = static_cast<char>(byte);
    all[byte] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? Kind::letter
                : c >= '0' && c <= '9'                           ? Kind::number
                : c == ' ' || (c >= '\t' && c <= '\r')           ? Kind::space
                                                                 : Kind::other;
  }
  return all;
}();

// The end of the part of the splitting pattern that begins here, for parts of ASCII alone, several
// times as fast; 0 where other characters decide.
std::size_t ascii_part_end(std::string_view text, std::size_t begin) {
  const auto kind = [&](std::size_t place) {
    return place < text.size() ? kinds[static_cast<unsigned char>(text[place])] : Kind::end;
  };
  const std::string_view rest = text.substr(begin);
  if (rest[0] == '\'') {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (rest.starts_with(ending)) return begin + ending.size();
    }
  }
  const Kind second = kind(begin + 1);
  const bool after_space = rest[0] == ' ' && second != Kind::space && second != Kind::end;
  std::size_t end = begin + (after_space ? 1 : 0);
  const Kind first_kind = kind(end);
  while (kind(end) == first_kind && first_kind != Kind::wide) ++end;
  if (kind(end) == Kind::wide) return 0;
  // The last of several spaces before other text belongs to that text.
  if (first_kind == Kind::space && kind(end) != Kind::end && end > begin + 1) --end;
  return end;
}

}  // namespace

std::size_t Gpt2Split::part_end(std::size_t begin) {
  if (const std::size_t end = ascii_part_end(text_, begin); end != 0) return end;
  if (!search_) search_.emplace(splitting_pattern(), text_);
  return search_->next(begin)->second;
}

}  // namespace headscope
