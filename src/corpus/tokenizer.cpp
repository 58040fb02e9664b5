#include "headscope/tokenizer.hpp"

#include "base/nearest_name.hpp"
#include "base/utf8.hpp"
#include "corpus/tokenizer_data.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"

namespace headscope {
namespace {

constexpr std::string_view end_of_text_entry = "<|endoftext|>";

// In UTF-8 a text has at most three times the bytes of its normal form C, and the other way round
// (Unicode Standard Annex 15).
constexpr std::size_t most_change = 3;

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

}  // namespace

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
                                      .byte_tokens = std::move(bytes),
                                      .merger = std::move(merger),
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
                  (n_token > d_vocab ? "expected at most " : "expected about ") +
                      std::to_string(d_vocab) + " tokens, as " + model.path + " has, got " +
                      std::to_string(n_token));
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
  const Data::Text all_text{text, well_formed, 0, {true, continues}};
  for (const auto& [span, token] : data_->added.split(text)) {
    if (token) {
      encoding.ids.push_back(*token);
      encoding.spans.push_back(span);
    } else {
      data_->encode_normalized(data_->settings.normalizer, all_text.part(span), encoding,
                               &Data::encode_section);
    }
  }
  return encoding;
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

std::size_t Tokenizer::longest_token() const {
  return data_->longest * (data_->settings.normalizer.composes() ? most_change : 1);
}

std::size_t Tokenizer::most_space_tokens() const {
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

bool Tokenizer::has_first_token() const {
  return data_->first_token.has_value();
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
