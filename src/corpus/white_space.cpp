#include "corpus/white_space.hpp"

#include <string>

#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"

namespace headscope {

bool ends_in_white_space(std::string_view text) {
  if (text.empty()) return false;
  if (const char last = text.back(); !utf8::is_continuation(last)) {
    return last == ' ' || (last >= '\t' && last <= '\r');
  }
  static const UnicodePattern pattern(R"(\p{White_Space})");
  std::size_t begin = text.size();
  while (begin > 0 && utf8::is_continuation(text[--begin])) {
  }
  const std::string last = with_placeholders(text.substr(begin));
  return UnicodePattern::Search(pattern, last).next(0).has_value();
}

}  // namespace headscope
