#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/unicode_pattern.hpp"

#include <pcre2.h>

#include <stdexcept>
#include <string>

#include "base/utf8.hpp"

namespace headscope {

UnicodePattern::UnicodePattern(std::string_view pattern) : code_(nullptr, pcre2_code_free) {
  int error = 0;
  std::size_t position = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL, &error, &position, nullptr));
  if (!code_) {
    throw std::logic_error("pattern does not compile at offset " + std::to_string(position) + ": " +
                           std::string(pattern));
  }
  // May fail: without just-in-time compilation matching is only slower.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

UnicodePattern::Search::Search(const UnicodePattern& pattern, std::string_view text)
    : pattern_(pattern),
      text_(text),
      match_data_(pcre2_match_data_create_from_pattern(pattern.code_.get(), nullptr),
                  pcre2_match_data_free) {
  if (!match_data_) throw std::bad_alloc();
}

std::optional<std::pair<std::size_t, std::size_t>> UnicodePattern::Search::next(std::size_t from) {
  const int found = pcre2_match(pattern_.code_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                                text_.size(), from, PCRE2_NO_UTF_CHECK, match_data_.get(), nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(found, message, sizeof message);
    throw std::runtime_error("PCRE2: " + std::string(reinterpret_cast<const char*>(message)));
  }
  const PCRE2_SIZE* const span = pcre2_get_ovector_pointer(match_data_.get());
  return std::pair<std::size_t, std::size_t>(span[0], span[1]);
}

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
