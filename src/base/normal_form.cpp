#include "base/normal_form.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"

namespace headscope {
namespace {

/// A character and what it decomposes to; `second` is 0 for a single character.
struct Decomposition {
  char32_t character, first, second;
  std::uint8_t composes;  // whether the two become the character
};

/// Characters [first, last] of one combining class.
struct ClassRange {
  char32_t first, last;
  std::uint8_t combining_class;
};

#include "base/canonical_table.inc"

// Hangul syllables are composed by a rule (the Unicode Standard, 3.12).
constexpr char32_t syllable_base = 0xAC00, lead_base = 0x1100, vowel_base = 0x1161,
                   tail_base = 0x11A7, n_lead = 19, n_vowel = 21, n_tail = 28,
                   n_syllable = n_lead * n_vowel * n_tail;

using Composition = std::map<std::pair<char32_t, char32_t>, char32_t>;

const Composition& compositions() {
  static const Composition all = [] {
    Composition made;
    for (const Decomposition& one : decompositions) {
      if (one.composes != 0) made[{one.first, one.second}] = one.character;
    }
    return made;
  }();
  return all;
}

/// Whether a character may compose with one before it.
bool may_follow(char32_t c) {
  static const std::vector<char32_t> seconds = [] {
    std::vector<char32_t> all;
    for (const auto& [pair, character] : compositions()) all.push_back(pair.second);
    std::ranges::sort(all);
    return all;
  }();
  return (c >= vowel_base && c < vowel_base + n_vowel) ||
         (c > tail_base && c < tail_base + n_tail) || std::ranges::binary_search(seconds, c);
}

std::uint8_t combining_class(char32_t c) {
  const std::span<const ClassRange> ranges(combining_classes);
  const auto found = std::ranges::lower_bound(ranges, c, {}, &ClassRange::last);
  return found != ranges.end() && found->first <= c ? found->combining_class : 0;
}

void decompose(char32_t c, std::u32string& text) {
  if (c >= syllable_base && c < syllable_base + n_syllable) {
    const char32_t index = c - syllable_base;
    text += lead_base + index / (n_vowel * n_tail);
    text += vowel_base + index % (n_vowel * n_tail) / n_tail;
    if (index % n_tail != 0) text += tail_base + index % n_tail;
    return;
  }
  const std::span<const Decomposition> all(decompositions);
  const auto found = std::ranges::lower_bound(all, c, {}, &Decomposition::character);
  if (found == all.end() || found->character != c) {
    text += c;
    return;
  }
  decompose(found->first, text);
  if (found->second != 0) decompose(found->second, text);
}

/// The character that two become; 0 if there is none.
char32_t composed(char32_t first, char32_t second) {
  if (first >= lead_base && first < lead_base + n_lead && second >= vowel_base &&
      second < vowel_base + n_vowel) {
    return syllable_base + ((first - lead_base) * n_vowel + (second - vowel_base)) * n_tail;
  }
  if (first >= syllable_base && first < syllable_base + n_syllable &&
      (first - syllable_base) % n_tail == 0 && second > tail_base && second < tail_base + n_tail) {
    return first + (second - tail_base);
  }
  const auto found = compositions().find({first, second});
  return found == compositions().end() ? 0 : found->second;
}

/// The normal form of a decomposed text.
std::string compose(std::u32string text) {
  for (auto begin = text.begin(); begin != text.end();) {
    const auto end =
        std::find_if(begin, text.end(), [](char32_t c) { return !combining_class(c); });
    std::stable_sort(
        begin, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    begin = end == text.end() ? end : end + 1;
  }
  std::u32string result;
  std::size_t starter = std::u32string::npos;
  std::uint8_t last_class = 0;  // of the last mark that was left
  for (const char32_t c : text) {
    const std::uint8_t own_class = combining_class(c);
    const bool is_next = starter + 1 == result.size(),
               blocked = !is_next && last_class >= own_class;
    const char32_t joined =
        starter == std::u32string::npos || blocked ? 0 : composed(result[starter], c);
    if (joined != 0) {
      result[starter] = joined;
      continue;
    }
    if (own_class == 0) starter = result.size();
    last_class = own_class;
    result += c;
  }
  std::string bytes;
  for (const char32_t c : result) utf8::append(bytes, c);
  return bytes;
}

/// Whether nothing before the character has to do with it.
bool begins_part(const std::u32string& decomposed) {
  return combining_class(decomposed[0]) == 0 && !may_follow(decomposed[0]);
}

}  // namespace

void compose_canonically(
    std::string_view text,
    const std::function<void(std::size_t, std::size_t, std::string_view)>& take) {
  // Up to U+02FF every character is in the normal form, and none is a mark.
  constexpr unsigned char first_lead_beyond = 0xCC;
  const auto is_beyond = [](char byte) {
    return static_cast<unsigned char>(byte) >= first_lead_beyond;
  };
  if (std::ranges::none_of(text, is_beyond)) return take(0, text.size(), text);
  std::u32string part;
  std::size_t part_begin = 0;
  const auto finish = [&](std::size_t end) {
    if (part_begin < end) take(part_begin, end, compose(part));
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8::character_length(text.substr(i));
    std::u32string decomposed;
    decompose(utf8::code_point(text.substr(i, length)), decomposed);
    if (begins_part(decomposed)) {
      finish(i);
      part.clear();
      part_begin = i;
    }
    part += decomposed;
    i += length;
  }
  finish(text.size());
}

}  // namespace headscope
