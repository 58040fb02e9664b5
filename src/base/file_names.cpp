#include "base/file_names.hpp"

#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"

namespace headscope {

std::string file_name(std::string_view text) {
  constexpr std::size_t most_bytes = 80;
  static const UnicodePattern kept(R"([\p{L}\p{M}\p{N}_.-])");
  const std::string valid = valid_utf8(text);
  std::string name;
  for (std::size_t i = 0; i < valid.size();) {
    const std::string character =
        valid.substr(i, utf8::character_length(std::string_view(valid).substr(i)));
    i += character.size();
    const bool is_kept = UnicodePattern::Search(kept, character).next(0).has_value() &&
                         !(name.empty() && (character == "." || character == "-"));
    if (name.size() + character.size() > most_bytes) break;
    name += is_kept ? character : "_";
  }
  return name;
}

std::vector<std::string> file_names(const std::vector<std::string>& texts) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, std::size_t> next;  // number to try, by name in small letters
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    const std::string first = file_name(text);
    std::string name = first;
    std::size_t& number = next.try_emplace(lower_ascii(first), 2).first->second;
    for (; !taken.insert(lower_ascii(name)).second; ++number) {
      name = first + "_" + std::to_string(number);
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace headscope
