#pragma once

#include <functional>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

namespace headscope {

/// The items' texts with the separator between them.
/// @param text_of  a function or member of an item that gives its text.
template <typename Items, typename TextOf = std::identity>
std::string joined(Items&& items, std::string_view separator, const TextOf& text_of = {}) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += std::invoke(text_of, item);
  }
  return text;
}

/// `a`, `a and b`, `a, b and c`.
template <typename Items, typename TextOf = std::identity>
std::string enumeration(const Items& items, const TextOf& text_of = {}) {
  if (items.size() < 2) return joined(items, "", text_of);
  return joined(items | std::views::take(items.size() - 1), ", ", text_of) + " and " +
         std::string(std::invoke(text_of, *std::ranges::prev(items.end())));
}

/// The first `most` items' texts, and how many more there are: `a, b and 3 more`.
template <typename Items, typename TextOf = std::identity>
std::string first_joined(const Items& items, std::size_t most, const TextOf& text_of = {}) {
  std::string text = joined(items | std::views::take(most), ", ", text_of);
  if (items.size() > most) text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

/// The text with each character that the table names replaced.
std::string escaped(std::string_view text,
                    std::initializer_list<std::pair<char, std::string_view>> table);

/// Replaces every `from`. @return whether there was one.
bool replace_all(std::string& text, std::string_view from, std::string_view to);

/// ASCII letters, digits and '_' as they are, any other byte as `other`.
std::string plain_name(std::string text, char other);

/// Capital letters of ASCII become small.
std::string lower_ascii(std::string text);

}  // namespace headscope
