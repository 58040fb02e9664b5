#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/unicode.hpp"

#include <pcre2.h>

#include <stdexcept>

namespace headscope::unicode {

std::size_t character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  // The second byte tells overlong forms, surrogates and code points above U+10FFFF apart.
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

std::size_t valid_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = character_length(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

void append(std::string& text, char32_t code_point) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::string with_placeholders(std::string_view text) {
  std::string result(text);
  std::size_t position = 0;
  while ((position += valid_prefix(text.substr(position))) < text.size()) {
    result[position++] = '\x01';
  }
  return result;
}

void Pattern::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

void Pattern::Search::Free::operator()(void* match_data) const {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data));
}

Pattern::Pattern(std::string_view pattern) {
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
  // Without just-in-time compilation matching is slower and otherwise the same.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

Pattern::Search::Search(const Pattern& pattern, std::string_view text)
    : pattern_(pattern),
      text_(text),
      match_data_(pcre2_match_data_create_from_pattern(
          static_cast<pcre2_code*>(pattern.code_.get()), nullptr)) {
  if (!match_data_) throw std::bad_alloc();
}

std::optional<std::pair<std::size_t, std::size_t>> Pattern::Search::next(std::size_t from) {
  auto* const match_data = static_cast<pcre2_match_data*>(match_data_.get());
  const int found = pcre2_match(static_cast<pcre2_code*>(pattern_.code_.get()),
                                reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                                PCRE2_NO_UTF_CHECK, match_data, nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) throw std::runtime_error("PCRE2 error " + std::to_string(found));
  const PCRE2_SIZE* const span = pcre2_get_ovector_pointer(match_data);
  return std::pair<std::size_t, std::size_t>(span[0], span[1]);
}

}  // namespace headscope::unicode
