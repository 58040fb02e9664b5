#include "corpus/byte_alphabet.hpp"

#include <array>
#include <unordered_map>

#include "base/utf8.hpp"

namespace headscope::byte_alphabet {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters;
  std::unordered_map<std::string, char> bytes;

  Alphabet() {
    char32_t next_stand_in = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      utf8::append(characters[byte], visible ? byte : next_stand_in++);
      bytes.emplace(characters[byte], static_cast<char>(byte));
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string encode(unsigned char byte) {
  return alphabet().characters[byte];
}

std::string decode(std::string_view entry) {
  std::string bytes;
  for (std::size_t i = 0; i < entry.size();) {
    const std::size_t length = utf8::character_length(entry.substr(i));
    const auto found = alphabet().bytes.find(std::string(entry.substr(i, length)));
    if (found == alphabet().bytes.end()) return std::string(entry);
    bytes += found->second;
    i += length;
  }
  return bytes;
}

std::string fallback(unsigned char byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 0xF], '>'};
}

std::optional<unsigned char> parse_fallback(std::string_view entry) {
  constexpr std::size_t length = 6;
  if (entry.size() != length || !entry.starts_with("<0x")) return std::nullopt;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    if (fallback(value) == entry) return value;
  }
  return std::nullopt;
}

}  // namespace headscope::byte_alphabet
