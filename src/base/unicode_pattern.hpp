#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

// The types of PCRE2, whose header is not included here.
struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace headscope {

/// A compiled PCRE2 pattern with Unicode classes, for well-formed UTF-8. Safe to share between
/// threads.
class UnicodePattern {
 public:
  /// @throws std::logic_error if the pattern does not compile; says where.
  explicit UnicodePattern(std::string_view pattern);

  /// Searches one text from left to right; one per thread.
  class Search {
   public:
    /// Both arguments must outlive the search; `text` must be well-formed UTF-8.
    Search(const UnicodePattern& pattern, std::string_view text);
    /// [begin, end) of the next match at or after `from`, in bytes; nothing when there is none.
    /// @throws std::runtime_error if matching takes more steps than PCRE2 allows.
    std::optional<std::pair<std::size_t, std::size_t>> next(std::size_t from);

   private:
    const UnicodePattern& pattern_;
    std::string_view text_;
    std::unique_ptr<pcre2_real_match_data_8, void (*)(pcre2_real_match_data_8*)> match_data_;
  };

 private:
  std::unique_ptr<pcre2_real_code_8, void (*)(pcre2_real_code_8*)> code_;
};

/// Whether the last character of a text is white space; false for an empty text.
bool ends_in_white_space(std::string_view text);

}  // namespace headscope
