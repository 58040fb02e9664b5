#include "corpus/added_tokens.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

using nlohmann::json;

AddedToken parse_added_token(const json& item, const std::string& source) {
  const auto is_set = [&](const char* key) {
    const auto found = item.find(key);
    return found != item.end() && *found == true;
  };
  const bool well_formed =
      item.is_object() && item.contains("content") && item.contains("id") &&
      item["content"].is_string() && !item["content"].get_ref<const std::string&>().empty() &&
      item["id"].is_number_unsigned() && item["id"] <= std::numeric_limits<TokenId>::max();
  if (!well_formed) {
    throw DataError(source, "", "expected tokens with content and id, got " + json_text(item));
  }
  AddedToken token{item["content"], item["id"], is_set("special"), is_set("normalized")};
  if (token.is_special) return token;
  for (const char* const rule : {"lstrip", "rstrip", "single_word"}) {
    if (!is_set(rule)) continue;
    throw DataError(source, token.text, std::string("expected ") + rule + " false, got true");
  }
  return token;
}

}  // namespace

std::vector<AddedToken> parse_added_tokens(std::string_view text, const std::string& source) {
  std::vector<AddedToken> tokens;
  if (text.empty()) return tokens;
  const json list = parse_json(text, source);
  if (!list.is_array()) throw DataError(source, "", "expected a list of tokens");
  for (const json& item : list) tokens.push_back(parse_added_token(item, source));
  return tokens;
}

AddedTokenSearch::AddedTokenSearch(
    const std::vector<AddedToken>& tokens,
    const std::function<std::string(const std::string&)>& normalized) {
  for (AddedToken token : tokens) {
    if (token.is_special) continue;
    if (token.is_normalized) token.text = normalized(token.text);
    (token.is_normalized ? normalized_ : ordinary_)[token.text.front()].push_back(token);
  }
  for (Tokens* const sorted : {&ordinary_, &normalized_}) {
    for (auto& [byte, same_byte] : *sorted) {
      std::ranges::stable_sort(same_byte, std::greater(),
                               [](const AddedToken& token) { return token.text.size(); });
    }
  }
}

std::vector<AddedTokenSearch::Part> AddedTokenSearch::split_by(const Tokens& tokens,
                                                               std::string_view text) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size() && !tokens.empty();) {
    const auto candidates = tokens.find(text[i]);
    const AddedToken* found = nullptr;
    if (candidates != tokens.end()) {
      const auto first = std::ranges::find_if(candidates->second, [&](const AddedToken& token) {
        return text.substr(i).starts_with(token.text);
      });
      if (first != candidates->second.end()) found = &*first;
    }
    if (found == nullptr) {
      ++i;
      continue;
    }
    if (begin < i) parts.push_back({{begin, i}, std::nullopt});
    begin = i + found->text.size();
    parts.push_back({{i, begin}, found->id});
    i = begin;
  }
  if (begin < text.size()) parts.push_back({{begin, text.size()}, std::nullopt});
  return parts;
}

}  // namespace headscope
