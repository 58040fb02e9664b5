#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/unicode_pattern.hpp"

#include <pcre2.h>

#include <stdexcept>
#include <string>

namespace headscope {

void UnicodePattern::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

void UnicodePattern::Search::Free::operator()(void* match_data) const {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data));
}

UnicodePattern::UnicodePattern(std::string_view pattern) {
  int error = 0;
  std::size_t position = 0;
  pcre2_code* const code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL, &error, &position, nullptr);
  if (code == nullptr) {
    throw std::logic_error("pattern does not compile at offset " + std::to_string(position) + ": " +
                           std::string(pattern));
  }
  code_.reset(code);
  // May fail: without just-in-time compilation matching is only slower.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

UnicodePattern::Search::Search(const UnicodePattern& pattern, std::string_view text)
    : pattern_(pattern),
      text_(text),
      match_data_(pcre2_match_data_create_from_pattern(
          static_cast<pcre2_code*>(pattern.code_.get()), nullptr)) {
  if (!match_data_) throw std::bad_alloc();
}

std::optional<std::pair<std::size_t, std::size_t>> UnicodePattern::Search::next(std::size_t from) {
  auto* const match_data = static_cast<pcre2_match_data*>(match_data_.get());
  const int found = pcre2_match(static_cast<pcre2_code*>(pattern_.code_.get()),
                                reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                                PCRE2_NO_UTF_CHECK, match_data, nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) throw std::runtime_error("PCRE2 error " + std::to_string(found));
  const PCRE2_SIZE* const span = pcre2_get_ovector_pointer(match_data);
  return std::pair<std::size_t, std::size_t>(span[0], span[1]);
}

}  // namespace headscope
