#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headscope::unicode {

/// Length of the longest beginning of `text` that is well-formed UTF-8: whole characters, no
/// overlong forms, no surrogates, nothing above U+10FFFF. Equal to text.size() when all of it is.
std::size_t valid_prefix(std::string_view text);

/// Length in bytes of the character that begins `text`, 0 if no well-formed character does.
std::size_t character_length(std::string_view text);

/// Whether a byte continues a character rather than begins one.
inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends a code point as UTF-8.
void append(std::string& text, char32_t code_point);

/// The text with each byte that is not part of well-formed UTF-8 replaced by U+0001: same length,
/// always well formed, and U+0001 is no letter, number or space, like the U+FFFD that other
/// programs put in such places.
std::string with_placeholders(std::string_view text);

/// A compiled PCRE2 pattern with Unicode classes, for well-formed UTF-8. Safe to share between
/// threads.
class Pattern {
 public:
  /// @param pattern  a constant of ours: one that does not compile is a mistake in Headscope.
  explicit Pattern(std::string_view pattern);

  /// Searches one text from left to right; one per thread.
  class Search {
   public:
    /// Both arguments must outlive the search; `text` must be well-formed UTF-8.
    Search(const Pattern& pattern, std::string_view text);
    /// [begin, end) of the next match at or after `from`, in bytes; nothing when there is none.
    std::optional<std::pair<std::size_t, std::size_t>> next(std::size_t from);

   private:
    struct Free {
      void operator()(void* match_data) const;
    };
    const Pattern& pattern_;
    std::string_view text_;
    std::unique_ptr<void, Free> match_data_;
  };

 private:
  struct Free {
    void operator()(void* code) const;
  };
  std::unique_ptr<void, Free> code_;
};

}  // namespace headscope::unicode
