#include "text_display.hpp"

namespace headscope {
namespace {

/// Length of the well-formed UTF-8 sequence at `begin`; 0 when there is none.
std::size_t sequence_length(const std::string& bytes, std::size_t begin) {
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  const unsigned lead = byte(begin);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(begin + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(begin + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string readable_text(const std::string& bytes) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string text;
  std::size_t position = 0;
  while (position < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[position]);
    const std::size_t length = sequence_length(bytes, position);
    if (length == 0 || lead < 0x20 || lead == 0x7F) {
      text += {'\\', 'x', digits[lead >> 4], digits[lead & 0xF]};
      ++position;
    } else {
      text.append(bytes, position, length);
      position += length;
    }
  }
  return text;
}

}  // namespace headscope
