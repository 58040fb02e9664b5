#include "corpus/document_cut.hpp"

#include <algorithm>

#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"

namespace headscope {
namespace {

std::string_view part(std::string_view text, ByteSpan span) {
  return text.substr(span.first, span.second - span.first);
}

// Whether the token counts of both sides of a boundary add up: where a space follows a word that no
// token joins with it.
bool tokens_add_up(const Tokenizer& tokenizer, std::string_view text, std::size_t boundary) {
  return tokenizer.separates_words() && text[boundary] == ' ' &&
         !ends_in_white_space(text.substr(0, boundary));
}

std::vector<ByteSpan> sentences(std::string_view text, ByteSpan span) {
  static const UnicodePattern pattern(
      R"((?:[\p{Sentence_Terminal}\x{2026}]["'\p{Pe}\p{Pf}]*+(?=\p{White_Space})|[\x{3002}\x{FF01}\x{FF1F}]["'\p{Pe}\p{Pf}]*+)\K\p{White_Space}*+)");
  std::vector<ByteSpan> spans;
  UnicodePattern::Search search(pattern, text);
  std::size_t begin = span.first;
  for (auto gap = search.next(begin); gap && gap->second < span.second;
       gap = search.next(gap->second)) {
    spans.emplace_back(begin, gap->first);
    begin = gap->second;
  }
  spans.emplace_back(begin, span.second);
  return spans;
}

std::vector<ByteSpan> find_words(std::string_view text, ByteSpan span) {
  static const UnicodePattern pattern(R"(\P{White_Space}++)");
  std::vector<ByteSpan> spans;
  UnicodePattern::Search search(pattern, text);
  for (auto word = search.next(span.first); word && word->first < span.second;
       word = search.next(word->second)) {
    spans.emplace_back(word->first, std::min(word->second, span.second));
  }
  return spans;
}

}  // namespace

std::size_t count_tokens(const Tokenizer& tokenizer, std::string_view text, Index most,
                         bool continues) {
  if (text.size() / tokenizer.longest_token() > most) return most + 1;
  // In parts, so that the rest of a long text is not read.
  const std::size_t part_bytes = 4 * most + 64;
  std::size_t n_token = 0;
  for (std::size_t begin = 0; begin < text.size() && n_token <= most;) {
    std::size_t end = std::min(begin + part_bytes, text.size());
    while (end < text.size() && !tokens_add_up(tokenizer, text, end)) ++end;
    const bool follows = continues || begin > 0;
    n_token += tokenizer.encode(text.substr(begin, end - begin), follows).ids.size();
    begin = end;
  }
  return std::min<std::size_t>(n_token, most + 1);
}

std::size_t longest_beginning(const Tokenizer& tokenizer, std::string_view text, Index max_tokens) {
  constexpr std::size_t bytes_considered_per_token = 8;
  std::size_t window = std::min<std::size_t>(text.size(), bytes_considered_per_token * max_tokens);
  while (window < text.size() && window > 1 && utf8::is_continuation(text[window])) --window;
  const auto spans = tokenizer.encode(text.substr(0, window)).spans;
  for (std::size_t n = std::min<std::size_t>(spans.size(), max_tokens); n > 0; --n) {
    const std::size_t end = spans[n - 1].second;
    if (end == 0) break;
    if (end < text.size() && utf8::is_continuation(text[end])) continue;
    if (count_tokens(tokenizer, text.substr(0, end), max_tokens) <= max_tokens) return end;
  }
  // A character of more tokens: as many of its bytes as fit.
  std::size_t length = std::min<std::size_t>(text.size(), max_tokens);
  while (length > 1 && count_tokens(tokenizer, text.substr(0, length), max_tokens) > max_tokens) {
    --length;
  }
  return length;
}

std::vector<PackedSegments> pack(const Tokenizer& tokenizer, std::string_view text,
                                 const std::vector<ByteSpan>& segments, Index max_tokens) {
  std::vector<PackedSegments> pieces;
  std::size_t first = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > first) {
      const std::size_t boundary = segments[i - 1].second;
      const auto count_from = [&](std::size_t begin, bool continues) {
        return count_tokens(tokenizer, part(text, {begin, segments[i].second}), max_tokens,
                            continues);
      };
      const std::size_t extended = tokens_add_up(tokenizer, text, boundary)
                                       ? count + count_from(boundary, true)
                                       : count_from(segments[first].first, false);
      if (extended <= max_tokens) {
        count = extended;
        continue;
      }
      pieces.push_back({first, i});
      first = i;
    }
    count = count_tokens(tokenizer, part(text, segments[i]), max_tokens);
    if (count > max_tokens) {
      pieces.push_back({i, i + 1, false});
      first = i + 1;
    }
  }
  if (first < segments.size()) pieces.push_back({first, segments.size()});
  return pieces;
}

CutText cut_text(const Tokenizer& tokenizer, std::string_view text, Index max_tokens) {
  const ByteSpan all_text(0, text.size());
  const std::size_t n_token = count_tokens(tokenizer, text, max_tokens);
  if (n_token <= max_tokens) return {{all_text}, n_token};
  const std::string searchable = with_placeholders(text);
  std::vector<ByteSpan> pieces;
  const auto sentence_spans = sentences(searchable, all_text);
  for (const auto& packed : pack(tokenizer, text, sentence_spans, max_tokens)) {
    const ByteSpan span(sentence_spans[packed.first].first, sentence_spans[packed.end - 1].second);
    if (packed.fits) {
      pieces.push_back(span);
      continue;
    }
    const auto word_spans = find_words(searchable, span);
    for (const auto& packed_words : pack(tokenizer, text, word_spans, max_tokens)) {
      ByteSpan rest(word_spans[packed_words.first].first, word_spans[packed_words.end - 1].second);
      while (!packed_words.fits && rest.first < rest.second) {
        const std::size_t length = longest_beginning(tokenizer, part(text, rest), max_tokens);
        pieces.emplace_back(rest.first, rest.first + length);
        rest.first += length;
      }
      if (packed_words.fits) pieces.push_back(rest);
    }
  }
  return {std::move(pieces), max_tokens};
}

}  // namespace headscope
