#include <algorithm>

#include "base/text.hpp"
#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "corpus/byte_alphabet.hpp"
#include "corpus/gpt2_split.hpp"
#include "corpus/tokenizer_data.hpp"

namespace headscope {
namespace {

/// The text with spaces in place of its space marks.
std::string with_spaces(std::string text, const std::string& mark) {
  if (!mark.empty()) replace_all(text, mark, " ");
  return text;
}

/// Whether a token goes on from a word over a space.
bool joins_words(std::string_view token) {
  for (std::size_t i = token.find(' ', 1); i < token.size(); i = token.find(' ', i + 1)) {
    if (!ends_in_white_space(token.substr(0, i))) return true;
  }
  return false;
}

}  // namespace

void Tokenizer::Data::add_entry(const VocabularyEntry& entry) {
  const std::string& text = entries.emplace_back(entry.text);
  const auto byte = byte_alphabet::parse_fallback(text);
  const std::string& stands_for =
      bytes.emplace_back(entry.is_added        ? text
                         : settings.byte_level ? byte_alphabet::decode(text)
                         : byte                ? std::string(1, static_cast<char>(*byte))
                                               : with_spaces(text, settings.space_mark()));
  longest = std::max(longest, stands_for.size());
  separates_words = separates_words && !joins_words(stands_for);
  const std::string& part = settings.byte_level ? stands_for : text;
  if (entry.is_added || part.empty()) return;
  TokenIds merged;
  std::vector<std::uint32_t> lengths;
  append_symbols(part, merged, lengths);
  merger.merge(merged, lengths);
  if (settings.ignore_merges) {
    whole_tokens.insert_or_assign(part, static_cast<TokenId>(entries.size() - 1));
  } else if (merged.size() == 1) {
    whole_tokens.insert_or_assign(part, merged[0]);
  }
}

void Tokenizer::Data::encode_normalized(const Normalizer& normalizer, const Text& text,
                                        Encoding& encoding,
                                        void (Data::*encode)(const Text&, Encoding&) const) const {
  if (normalizer.is_empty()) return (this->*encode)(text, encoding);
  const NormalizedText normalized = normalizer.apply(text.bytes, text.well_formed, text.place);
  Encoding inner;
  (this->*encode)({normalized.bytes, normalized.well_formed, 0, text.place}, inner);
  encoding.ids.insert(encoding.ids.end(), inner.ids.begin(), inner.ids.end());
  for (const ByteSpan& span : inner.spans) {
    const auto [begin, end] = normalized.origin(span);
    encoding.spans.emplace_back(text.offset + begin, text.offset + end);
  }
}

void Tokenizer::Data::encode_section(const Text& text, Encoding& encoding) const {
  for (const auto& [span, token] : added.split_normalized(text.bytes)) {
    if (token) {
      encoding.ids.push_back(*token);
      encoding.spans.emplace_back(text.offset + span.first, text.offset + span.second);
    } else {
      encode_normalized(settings.marking, text.part(span), encoding, &Data::encode_unadded);
    }
  }
}

void Tokenizer::Data::encode_unadded(const Text& text, Encoding& encoding) const {
  split(text, 0, encoding);
}

void Tokenizer::Data::split(const Text& text, std::size_t step, Encoding& encoding) const {
  if (step == settings.splits.size()) return encode_part(text, encoding);
  const SplitStep& by = settings.splits[step];
  if (!by.pattern) {
    Gpt2Split parts(text.well_formed);
    for (std::size_t begin = 0; begin < text.bytes.size();) {
      const std::size_t end = parts.part_end(begin);
      split(text.part({begin, end}), step + 1, encoding);
      begin = end;
    }
    return;
  }
  UnicodePattern::Search search(*by.pattern, text.well_formed);
  const auto take = [&](std::size_t begin, std::size_t end, bool keeps) {
    if (keeps && begin < end) split(text.part({begin, end}), step + 1, encoding);
  };
  std::size_t done = 0;
  for (auto match = search.next(0); match; match = search.next(match->second)) {
    if (match->first == match->second) {  // of nothing
      if (match->second == text.bytes.size()) break;
      ++match->second;
      while (match->second < text.bytes.size() &&
             utf8::is_continuation(text.well_formed[match->second])) {
        ++match->second;
      }
      continue;
    }
    take(done, match->first, by.keeps_gaps);
    take(match->first, match->second, by.keeps_matches);
    done = match->second;
  }
  take(done, text.bytes.size(), by.keeps_gaps);
}

void Tokenizer::Data::append_symbols(std::string_view part, TokenIds& tokens,
                                     std::vector<std::uint32_t>& lengths) const {
  std::size_t dropped = 0;  // bytes at the beginning
  const auto append = [&](TokenId token, std::size_t length) {
    if (token != no_token) {
      tokens.push_back(token);
      lengths.push_back(static_cast<std::uint32_t>(length + dropped));
      dropped = 0;
    } else if (lengths.empty()) {
      dropped += length;
    } else {
      lengths.back() += static_cast<std::uint32_t>(length);
    }
  };
  for (std::size_t i = 0; i < part.size();) {
    const std::size_t length =
        settings.byte_level ? 1 : std::max<std::size_t>(1, utf8::character_length(part.substr(i)));
    const auto found =
        settings.byte_level ? ids.end() : ids.find(std::string(part.substr(i, length)));
    if (found != ids.end()) {
      append(found->second, length);
    } else {
      for (const char byte : part.substr(i, length)) {
        append(byte_tokens[static_cast<unsigned char>(byte)], 1);
      }
    }
    i += length;
  }
}

void Tokenizer::Data::encode_part(const Text& part, Encoding& encoding) const {
  if (const auto whole = whole_tokens.find(part.bytes); whole != whole_tokens.end()) {
    encoding.ids.push_back(whole->second);
    encoding.spans.emplace_back(part.offset, part.offset + part.bytes.size());
    return;
  }
  TokenIds tokens;
  std::vector<std::uint32_t> lengths;
  append_symbols(part.bytes, tokens, lengths);
  merger.merge(tokens, lengths);
  encoding.ids.insert(encoding.ids.end(), tokens.begin(), tokens.end());
  std::size_t begin = part.offset;
  for (const std::uint32_t length : lengths) {
    encoding.spans.emplace_back(begin, begin + length);
    begin += length;
  }
}

}  // namespace headscope
