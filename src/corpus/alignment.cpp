#include "corpus/alignment.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace headscope {
namespace {

std::size_t shared_characters(std::string_view text, ByteSpan a, ByteSpan b) {
  const std::size_t begin = std::max(a.first, b.first);
  const std::size_t end = std::min(a.second, b.second);
  if (begin >= end) return 0;
  std::size_t count = 1;
  for (std::size_t i = begin + 1; i < end; ++i) count += !utf8::is_continuation(text[i]);
  return count;
}

}  // namespace

std::vector<ByteSpan> spans_within(ByteSpan span, std::string_view form,
                                   const std::vector<std::string_view>& forms) {
  std::vector<ByteSpan> spans;
  std::size_t position = 0;
  for (const std::string_view word : forms) {
    if (form.substr(position, word.size()) != word) break;
    spans.emplace_back(span.first + position, span.first + position + word.size());
    position += word.size();
  }
  if (spans.size() < forms.size() || position < form.size()) spans.assign(forms.size(), span);
  return spans;
}

std::vector<std::optional<Index>> align(std::string_view text,
                                        const std::vector<ByteSpan>& token_spans,
                                        const std::vector<ByteSpan>& word_spans) {
  std::vector<std::optional<Index>> words(token_spans.size());
  Index first = 0;
  for (std::size_t t = 0; t < token_spans.size(); ++t) {
    auto [begin, end] = token_spans[t];
    while (begin < end && text[begin] == ' ') ++begin;
    while (first < word_spans.size() && word_spans[first].second <= begin) ++first;
    std::size_t most = 0;
    for (Index w = first; w < word_spans.size() && word_spans[w].first < end; ++w) {
      const std::size_t shared = shared_characters(text, {begin, end}, word_spans[w]);
      if (shared > most) {
        most = shared;
        words[t] = w;
      }
    }
  }
  return words;
}

}  // namespace headscope
