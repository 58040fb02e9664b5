#include "corpus/split_pattern.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

namespace headscope {
namespace {

/// Reads a pattern from left to right.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  std::string translate() {
    while (!rest_.empty()) {
      switch (rest_[0]) {
        case '\\':
          escape();
          break;
        case '[':
          if (in_class_) refuse("[ within [ ]");
          in_class_ = true;
          copy(rest_.starts_with("[^]") || rest_.starts_with("[]") ? rest_.find(']') + 1
               : rest_.starts_with("[^")                           ? 2
                                                                   : 1);
          break;
        case ']':
          in_class_ = false;
          copy(1);
          break;
        default:
          if (in_class_) {
            if (rest_.starts_with("&&")) refuse("&&");
            copy(1);
          } else {
            outside_class();
          }
      }
    }
    return result_;
  }

 private:
  [[noreturn]] static void refuse(const std::string& construct) {
    throw std::invalid_argument(construct);
  }
  void copy(std::size_t n) {
    result_ += rest_.substr(0, n);
    rest_.remove_prefix(std::min(n, rest_.size()));
  }
  void put(std::string_view text, std::size_t n_read) {
    result_ += text;
    rest_.remove_prefix(n_read);
  }

  // White space and decimal digits are spelled out as Unicode has them: PCRE2's \s also takes
  // U+180E.
  void escape() {
    if (rest_.size() < 2) refuse("\\ at the end");
    const char letter = rest_[1];
    const std::size_t close = rest_.find('}');
    switch (letter) {
      case 's':
        return put("\\p{White_Space}", 2);
      case 'S':
        return put("\\P{White_Space}", 2);
      case 'd':
        return put("\\p{Nd}", 2);
      case 'D':
        return put("\\P{Nd}", 2);
      case 'p':
      case 'P':
        if (rest_.size() < 3 || rest_[2] != '{' || close == rest_.npos) refuse("\\p without { }");
        return copy(close + 1);
      case 'r':
      case 'n':
      case 't':
        return copy(2);
      default:
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
          refuse(std::string(rest_.substr(0, 2)));
        }
        return copy(2);
    }
  }

  void outside_class() {
    const char first = rest_[0];
    if (first == '.' || first == '^' || first == '$') refuse(std::string(1, first));
    if (rest_.starts_with("(?")) {
      constexpr std::array<std::string_view, 4> known{"(?:", "(?i:", "(?!", "(?="};
      const auto* const found = std::ranges::find_if(
          known, [&](std::string_view open) { return rest_.starts_with(open); });
      if (found == known.end()) refuse(std::string(rest_.substr(0, 4)));
      return copy(found->size());
    }
    // To Oniguruma {1,3}+ is a repeated repetition, to PCRE2 a possessive one.
    if (rest_.starts_with("}+")) refuse("}+");
    copy(1);
  }

  std::string_view rest_;
  std::string result_;
  bool in_class_ = false;
};

}  // namespace

std::string pcre2_pattern(std::string_view oniguruma) {
  return Translator(oniguruma).translate();
}

}  // namespace headscope
