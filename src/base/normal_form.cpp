#include "base/normal_form.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "base/utf8.hpp"

namespace headscope {
namespace {

// Up to U+02FF every character is in the normal form, and none is a mark.
constexpr char32_t first_to_compose = 0x300;
constexpr unsigned char least_first_byte = 0xCC;  // of these characters

using Malloced = std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)>;

std::string composed(std::string_view part) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(part.data()),
                   static_cast<utf8proc_ssize_t>(part.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const Malloced held(bytes, &std::free);
  if (size < 0) throw std::runtime_error(utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace

void compose_canonically(
    std::string_view text,
    const std::function<void(std::size_t, std::size_t, std::string_view)>& take) {
  const auto may_begin = [](char byte) {
    return static_cast<unsigned char>(byte) >= least_first_byte;
  };
  if (std::ranges::none_of(text, may_begin)) return take(0, text.size(), text);
  // Characters of different graphemes do not compose.
  std::size_t grapheme = 0;
  bool may_compose = false;
  const auto finish = [&](std::size_t end) {
    const std::string_view part = text.substr(grapheme, end - grapheme);
    if (may_compose) {
      take(grapheme, end, composed(part));
    } else if (!part.empty()) {
      take(grapheme, end, part);
    }
  };
  char32_t previous = 0;
  utf8proc_int32_t state = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8::character_length(text.substr(i));
    const char32_t c = utf8::code_point(text.substr(i, length));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                         static_cast<utf8proc_int32_t>(c), &state)) {
      finish(i);
      grapheme = i;
      may_compose = false;
    }
    may_compose |= c >= first_to_compose;
    previous = c;
    i += length;
  }
  finish(text.size());
}

}  // namespace headscope
