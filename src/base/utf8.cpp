#include "headscope/utf8.hpp"

namespace headscope {
namespace {

// Length of the UTF-8 sequence at the start of `text`, 0 if it is broken.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf5   ? 0
                             : lead >= 0xf0 ? 4
                             : lead >= 0xe0 ? 3
                             : lead >= 0xc2 ? 2
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) > 0x9f;
  const bool too_large = lead == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_large ? 0 : length;
}

// C1 controls, line and paragraph separators, and the two non-characters XML refuses.
bool is_control(std::string_view sequence) {
  const unsigned char first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
  if (sequence.size() == 2) return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
  return sequence == "\u2028" || sequence == "\u2029" || sequence == "\uFFFE" ||
         sequence == "\uFFFF";
}

constexpr std::string_view replacement = "\uFFFD";

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text[i] == '\0' ? 0 : sequence_length(text.substr(i));
    valid += length == 0 ? replacement : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return valid;
}

std::string escaped_utf8(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string escaped;
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = sequence_length(text);
    if (length == 0 || lead < 0x20 || lead == 0x7f) {
      escaped += {'\\', 'x', digits[lead >> 4], digits[lead & 0xf]};
      text.remove_prefix(1);
    } else {
      escaped += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return escaped;
}

std::string one_line(std::string_view text) {
  const std::string valid = valid_utf8(text);
  const std::string_view rest(valid);
  std::string clean;
  for (std::size_t i = 0; i < valid.size();) {
    const std::string_view sequence = rest.substr(i, sequence_length(rest.substr(i)));
    clean += is_control(sequence) ? std::string_view(" ") : sequence;
    i += sequence.size();
  }
  return clean;
}

}  // namespace headscope
