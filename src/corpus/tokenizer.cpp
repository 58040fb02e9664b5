#include "headscope/tokenizer.hpp"

#include <algorithm>

#include "base/nearest_name.hpp"
#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "corpus/added_tokens.hpp"
#include "corpus/byte_alphabet.hpp"
#include "corpus/gpt2_split.hpp"
#include "corpus/normalizer.hpp"
#include "corpus/tokenizer_settings.hpp"
#include "corpus/vocabulary.hpp"
#include "corpus/white_space.hpp"
#include "corpus/whole_tokens.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"

namespace headscope {
namespace {

constexpr std::string_view end_of_text_entry = "<|endoftext|>";

std::string sha256_of(const TokenizerFiles& files) {
  Sha256 hash;
  for (const std::string* text :
       {&files.vocab_json, &files.merges, &files.added_tokens, &files.settings}) {
    hash.add(*text);
  }
  return hash.finish();
}

std::string normalized_text(const Normalizer& normalizer, const std::string& text) {
  return normalizer.apply(text, with_placeholders(text), {}).bytes;
}

/// The text without anything in place of its space marks.
std::string with_spaces(std::string text, const std::string& mark) {
  for (std::size_t i = text.find(mark); !mark.empty() && i != text.npos; i = text.find(mark, i)) {
    text.replace(i, mark.size(), " ");
  }
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

struct Tokenizer::Data {
  std::string vocab_source;
  std::string sha256;
  TokenizerSettings settings;
  EntryIds ids;
  std::vector<std::string> entries;  // of each token, as its file spells it
  std::vector<std::string> bytes;    // of each token
  std::size_t longest = 0;           // bytes of the longest token
  bool separates_words = true;       // no token joins two words
  std::vector<TokenId> byte_tokens;
  BytePairMerger merger;
  std::optional<TokenId> first_token;
  std::string first_token_reason;
  WholeTokens whole;  // points into `bytes` and `entries`
  AddedTokenSearch added;

  /// A text, or its normal form, and where it stands.
  struct Text {
    std::string_view bytes, well_formed;
    std::size_t offset = 0;  // in the text that the spans are of
    Normalizer::Place place;

    Text part(ByteSpan span) const {
      const auto [begin, end] = span;
      return {bytes.substr(begin, end - begin),
              well_formed.substr(begin, end - begin),
              offset + begin,
              {place.begins_document && begin == 0, place.continues && begin == 0}};
    }
  };

  /// Encodes the normal form of a text by `encode`; spans are those of the text.
  void encode_normalized(const Normalizer& normalizer, const Text& text, Encoding& encoding,
                         void (Data::*encode)(const Text&, Encoding&) const) const;
  /// Encodes a text without tokens that are searched for in texts as they are.
  void encode_section(const Text& text, Encoding& encoding) const;
  /// Encodes a text without added tokens.
  void encode_unadded(const Text& text, Encoding& encoding) const;
  /// Splits by the settings' splits from number `step` on, and encodes the parts.
  void split(const Text& text, std::size_t step, Encoding& encoding) const;
  /// Encodes a part that nothing splits further.
  void encode_part(const Text& part, Encoding& encoding) const;
  /// Appends the tokens that merging a part begins with. A byte that is dropped belongs to the
  /// token before it, else to the one after it.
  void append_symbols(std::string_view part, TokenIds& tokens,
                      std::vector<std::uint32_t>& lengths) const;
  void add_entry(const VocabularyEntry& entry);
};

Tokenizer::Tokenizer(std::string_view vocab_json, std::string_view merges,
                     const std::string& source)
    : Tokenizer({std::string(vocab_json), std::string(merges), "", source + ":vocab",
                 source + ":merges", ""}) {}

Tokenizer::Tokenizer(const TokenizerFiles& files) {
  const std::vector<AddedToken> added = parse_added_tokens(files.added_tokens, files.added_source);
  const std::vector<VocabularyEntry> entries = parse_vocabulary(files, added);
  TokenizerSettings settings = TokenizerSettings::parse(files.settings, files.settings_source);
  EntryIds ids;
  for (std::size_t id = 0; id < entries.size(); ++id) {
    ids.emplace(entries[id].text, static_cast<TokenId>(id));
  }
  const auto normalized = [&](const std::string& text) {
    return normalized_text(settings.normalizer, text);
  };
  AddedTokenSearch search(added, normalized);
  std::vector<TokenId> bytes = byte_tokens(ids, settings, files.vocab_source);
  BytePairMerger merger = parse_merges(ids, files);
  data_ = std::make_unique<Data>(Data{.vocab_source = files.vocab_source,
                                      .sha256 = sha256_of(files),
                                      .settings = std::move(settings),
                                      .ids = std::move(ids),
                                      .entries = {},
                                      .bytes = {},
                                      .byte_tokens = std::move(bytes),
                                      .merger = std::move(merger),
                                      .first_token = {},
                                      .first_token_reason = {},
                                      .whole = {},
                                      .added = std::move(search)});
  data_->entries.reserve(entries.size());
  data_->bytes.reserve(entries.size());
  for (const VocabularyEntry& entry : entries) data_->add_entry(entry);
  if (const auto& prepended = data_->settings.prepended) {
    begin_with(*prepended, "the tokenizer");
  } else if (token(end_of_text_entry)) {
    begin_with(std::string(end_of_text_entry), "the vocabulary");
  }
}

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
    whole.add(part, static_cast<TokenId>(entries.size() - 1));
  } else if (merged.size() == 1) {
    whole.add(part, merged[0]);
  }
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

const std::string& Tokenizer::source() const {
  return data_->vocab_source;
}

const std::string& Tokenizer::sha256() const {
  return data_->sha256;
}

Tokenizer Tokenizer::from_directory(const std::string& directory) {
  return Tokenizer(read_tokenizer_files(directory));
}

void check_tokenizer_fits(const Tokenizer& tokenizer, const Model& model) {
  constexpr Index greatest_padding = 1023;
  const Index n_token = tokenizer.size(), d_vocab = model.config.d_vocab;
  if (d_vocab == 0 || (n_token <= d_vocab && n_token + greatest_padding >= d_vocab)) return;
  throw DataError(tokenizer.source(), "",
                  "expected about " + std::to_string(d_vocab) + " tokens, as " + model.path +
                      " has, got " + std::to_string(n_token));
}

Tokenizer::Encoding Tokenizer::encode(std::string_view text, bool continues) const {
  std::string placeholders;
  std::string_view well_formed = text;
  if (utf8::valid_prefix(text) < text.size()) {
    placeholders = with_placeholders(text);
    well_formed = placeholders;
  }
  Encoding encoding;
  encoding.ids.reserve(text.size() / 4 + 1);
  encoding.spans.reserve(text.size() / 4 + 1);
  const Data::Text whole{text, well_formed, 0, {true, continues}};
  for (const auto& [span, token] : data_->added.split(text)) {
    if (token) {
      encoding.ids.push_back(*token);
      encoding.spans.push_back(span);
    } else {
      data_->encode_normalized(data_->settings.normalizer, whole.part(span), encoding,
                               &Data::encode_section);
    }
  }
  return encoding;
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
  if (const std::optional<TokenId> token = whole.find(part.bytes)) {
    encoding.ids.push_back(*token);
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

std::string Tokenizer::decode(const TokenIds& ids) const {
  std::string text;
  for (const TokenId id : ids) text += decode(id);
  // A space that the tokenizer put before the text, or one in its place.
  const bool prepends = data_->settings.normalizer.prepends() || data_->settings.marking.prepends();
  return prepends && text.starts_with(' ') ? text.substr(1) : text;
}

std::string Tokenizer::decode(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size()) {
    throw ShapeError("token id: expected 0 to " + std::to_string(size() - 1) + ", got " +
                     std::to_string(id));
  }
  return data_->bytes[static_cast<std::size_t>(id)];
}

std::size_t Tokenizer::size() const {
  return data_->bytes.size();
}

namespace {

// In UTF-8 a text has at most three times the bytes of its normal form C, and the other way round
// (Unicode Standard Annex 15).
constexpr std::size_t most_change = 3;

}  // namespace

std::size_t Tokenizer::longest_token() const {
  return data_->longest * (data_->settings.normalizer.composes() ? most_change : 1);
}

std::size_t Tokenizer::most_tokens(std::size_t n_byte) const {
  const TokenizerSettings& settings = data_->settings;
  return n_byte * (settings.normalizer.composes() ? most_change : 1) + n_prefix();
}

std::size_t Tokenizer::n_prefix() const {
  const TokenizerSettings& settings = data_->settings;
  return (settings.normalizer.prepends() ? 1U : 0U) + (settings.marking.prepends() ? 1U : 0U);
}

bool Tokenizer::separates_words() const {
  return data_->separates_words;
}

std::optional<TokenId> Tokenizer::token(std::string_view entry) const {
  const auto found = data_->ids.find(std::string(entry));
  return found == data_->ids.end() ? std::nullopt : std::optional(found->second);
}

std::string Tokenizer::suggestion(const std::string& entry) const {
  return headscope::suggestion(entry, data_->entries);
}

void Tokenizer::begin_with(const std::string& entry, const std::string& reason) {
  const std::optional<TokenId> id = token(entry);
  if (!id) {
    throw DataError(data_->vocab_source, "",
                    "expected the token \"" + entry + "\", with which documents begin, got none" +
                        suggestion(entry));
  }
  begin_with(*id, reason);
}

void Tokenizer::begin_with(TokenId id, const std::string& reason) {
  decode(id);  // checks it
  data_->first_token = id;
  data_->first_token_reason = reason;
}

TokenId Tokenizer::first_token() const {
  if (!data_->first_token) {
    throw DataError(data_->vocab_source, "",
                    "expected the token " + std::string(end_of_text_entry) +
                        ", with which documents begin, got none",
                    Remedy::no_bos);
  }
  return *data_->first_token;
}

const std::string& Tokenizer::first_token_reason() const {
  return data_->first_token_reason;
}

}  // namespace headscope
