#include "headscope/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/fields.hpp"
#include "base/json_text.hpp"
#include "base/unicode_pattern.hpp"
#include "base/utf8.hpp"
#include "corpus/added_tokens.hpp"
#include "corpus/byte_alphabet.hpp"
#include "corpus/byte_pair_merger.hpp"
#include "corpus/whole_tokens.hpp"
#include "files/sha256.hpp"
#include "headscope/error.hpp"
#include "headscope/model.hpp"

namespace headscope {
namespace {

constexpr std::string_view end_of_text_entry = "<|endoftext|>";

// GPT-2's pattern. White space is spelled out as Unicode's White_Space property, since PCRE2's \s
// also takes U+180E.
const UnicodePattern& splitting_pattern() {
  static const std::string space =
      R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  static const UnicodePattern pattern(R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}++| ?\p{N}++| ?[^)" + space +
                                      R"(\p{L}\p{N}]++|[)" + space + "]+(?![^" + space + "])|[" +
                                      space + "]++");
  return pattern;
}

enum class Kind : unsigned char { wide, letter, number, space, other, end };

// By byte; a byte of a character beyond ASCII is `wide`.
constexpr std::array<Kind, 256> kinds = [] {
  std::array<Kind, 256> all{};
  for (std::size_t byte = 0; byte < 0x80; ++byte) {
    const char c = static_cast<char>(byte);
    all[byte] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? Kind::letter
                : c >= '0' && c <= '9'                           ? Kind::number
                : c == ' ' || (c >= '\t' && c <= '\r')           ? Kind::space
                                                                 : Kind::other;
  }
  return all;
}();

// The end of the part of the splitting pattern that begins here, for parts of ASCII alone, several
// times as fast; 0 where other characters decide.
std::size_t ascii_part_end(std::string_view text, std::size_t begin) {
  const auto kind = [&](std::size_t place) {
    return place < text.size() ? kinds[static_cast<unsigned char>(text[place])] : Kind::end;
  };
  const std::string_view rest = text.substr(begin);
  if (rest[0] == '\'') {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (rest.starts_with(ending)) return begin + ending.size();
    }
  }
  const Kind second = kind(begin + 1);
  const bool after_space = rest[0] == ' ' && second != Kind::space && second != Kind::end;
  std::size_t end = begin + (after_space ? 1 : 0);
  const Kind own = kind(end);
  while (kind(end) == own && own != Kind::wide) ++end;
  if (kind(end) == Kind::wide) return 0;
  // The last of several spaces before other text belongs to that text.
  if (own == Kind::space && kind(end) != Kind::end && end > begin + 1) --end;
  return end;
}

struct Entry {
  std::string text;
  bool is_added = false;
};

/// The entries of vocabulary and added tokens, by id.
std::vector<Entry> parse_vocabulary(const TokenizerFiles& files,
                                    const std::vector<AddedToken>& added) {
  const std::string& source = files.vocab_source;
  const auto vocabulary = parse_json(files.vocab_json);
  if (!vocabulary.is_object()) {
    throw DataError(
        source, "",
        "expected a JSON object of tokens and ids, got " +
            std::string(vocabulary.is_discarded() ? "malformed JSON" : vocabulary.type_name()));
  }
  if (vocabulary.empty()) throw DataError(source, "", "expected tokens, got none");
  const auto in_vocabulary = [&](const AddedToken& token) {
    return vocabulary.contains(token.text);
  };
  const auto n_inside =
      static_cast<std::size_t>(std::count_if(added.begin(), added.end(), in_vocabulary));
  const std::size_t n = vocabulary.size() + added.size() - n_inside;
  std::vector<Entry> entries(n);
  std::vector<bool> taken(n);
  const auto fail = [&](const std::string& file, const std::string& text, const std::string& got) {
    throw DataError(file, "",
                    "expected ids 0 to " + std::to_string(n - 1) + ", each once, got " + got +
                        " for \"" + text + "\"");
  };
  const auto take = [&](const std::string& file, const std::string& text, std::size_t id,
                        bool is_added) {
    if (id >= n) fail(file, text, std::to_string(id));
    if (taken[id]) fail(file, text, std::to_string(id) + " again");
    taken[id] = true;
    entries[id] = {text, is_added};
  };
  for (const auto& item : vocabulary.items()) {
    const nlohmann::json& id = item.value();
    if (!id.is_number_unsigned()) fail(source, item.key(), id.dump());
    take(source, item.key(), id.get<std::size_t>(), false);
  }
  for (const AddedToken& token : added) {
    if (!in_vocabulary(token)) {
      take(files.added_source, token.text, static_cast<std::size_t>(token.id), true);
    } else if (vocabulary[token.text] != token.id) {
      throw DataError(files.added_source, token.text,
                      "expected id " + vocabulary[token.text].dump() +
                          ", as in the vocabulary, got " + std::to_string(token.id));
    } else {
      entries[static_cast<std::size_t>(token.id)].is_added = true;
    }
  }
  return entries;
}

std::string sha256_of(const TokenizerFiles& files) {
  Sha256 hash;
  for (const std::string* text : {&files.vocab_json, &files.merges, &files.added_tokens}) {
    hash.add(*text);
  }
  return hash.finish();
}

using EntryIds = std::unordered_map<std::string, TokenId>;

BytePairMerger make_merger(const EntryIds& ids, const TokenizerFiles& files) {
  BytePairMerger::ByteTokens byte_tokens(256);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string entry = byte_alphabet::encode(static_cast<unsigned char>(byte));
    const auto found = ids.find(entry);
    if (found == ids.end()) {
      throw DataError(files.vocab_source, "",
                      "expected a token for every byte, got none for byte " + std::to_string(byte) +
                          " (\"" + entry + "\")");
    }
    byte_tokens[byte] = found->second;
  }
  BytePairMerger merger(std::move(byte_tokens));
  std::size_t line_number = 0;
  std::int32_t rank = 0;
  for (std::string_view line : fields::split(files.merges, '\n')) {
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || line.empty()) continue;
    const auto fail = [&](const std::string& problem) {
      throw DataError(files.merges_source, std::to_string(line_number), problem);
    };
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      fail("expected two tokens with a space between them, got \"" + std::string(line) + "\"");
    }
    const auto id = [&](const std::string& entry) {
      const auto found = ids.find(entry);
      if (found == ids.end()) fail("expected tokens of the vocabulary, got \"" + entry + "\"");
      return found->second;
    };
    const std::string left(line.substr(0, space)), right(line.substr(space + 1));
    const TokenId left_id = id(left), right_id = id(right);
    merger.add(left_id, right_id, id(left + right), rank++);
  }
  return merger;
}

}  // namespace

struct Tokenizer::Data {
  std::string vocab_source;
  std::string sha256;
  std::vector<std::string> bytes;  // of each token
  std::size_t longest = 0;         // bytes of the longest token
  BytePairMerger merger;
  std::optional<TokenId> end_of_text;
  WholeTokens whole;  // points into `bytes`
  AddedTokenSearch added;

  /// Appends the tokens of a text without added tokens.
  /// @param well_formed  the same text as valid UTF-8 of the same length.
  /// @param offset       of the text in the whole text.
  void encode(std::string_view text, std::string_view well_formed, std::size_t offset,
              Encoding& encoding) const;
};

Tokenizer::Tokenizer(std::string_view vocab_json, std::string_view merges,
                     const std::string& source)
    : Tokenizer({std::string(vocab_json), std::string(merges), "", source + ":vocab",
                 source + ":merges", ""}) {}

Tokenizer::Tokenizer(const TokenizerFiles& files) {
  const std::vector<AddedToken> added = parse_added_tokens(files.added_tokens, files.added_source);
  const std::vector<Entry> entries = parse_vocabulary(files, added);
  EntryIds ids;
  for (std::size_t id = 0; id < entries.size(); ++id) {
    ids.emplace(entries[id].text, static_cast<TokenId>(id));
  }
  data_ = std::make_unique<Data>(Data{files.vocab_source,
                                      sha256_of(files),
                                      {},
                                      0,
                                      make_merger(ids, files),
                                      {},
                                      {},
                                      AddedTokenSearch(added)});
  data_->bytes.reserve(entries.size());
  TokenIds merged;
  std::vector<std::uint32_t> lengths;
  for (const Entry& entry : entries) {
    const std::string& bytes =
        data_->bytes.emplace_back(entry.is_added ? entry.text : byte_alphabet::decode(entry.text));
    data_->longest = std::max(data_->longest, bytes.size());
    if (entry.is_added) continue;
    merged.clear();
    data_->merger.merge(bytes, merged, lengths);
    if (merged.size() == 1) data_->whole.add(bytes, merged[0]);
  }
  if (const auto found = ids.find(std::string(end_of_text_entry)); found != ids.end()) {
    data_->end_of_text = found->second;
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

Tokenizer::Encoding Tokenizer::encode(std::string_view text) const {
  std::string placeholders;
  std::string_view well_formed = text;
  if (utf8::valid_prefix(text) < text.size()) {
    placeholders = with_placeholders(text);
    well_formed = placeholders;
  }
  Encoding encoding;
  encoding.ids.reserve(text.size() / 4 + 1);
  encoding.spans.reserve(text.size() / 4 + 1);
  for (const auto& [span, token] : data_->added.split(text)) {
    const auto [begin, end] = span;
    if (token) {
      encoding.ids.push_back(*token);
      encoding.spans.push_back(span);
    } else {
      data_->encode(text.substr(begin, end - begin), well_formed.substr(begin, end - begin), begin,
                    encoding);
    }
  }
  return encoding;
}

void Tokenizer::Data::encode(std::string_view text, std::string_view well_formed,
                             std::size_t offset, Encoding& encoding) const {
  std::vector<std::uint32_t> lengths;
  std::optional<UnicodePattern::Search> search;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = ascii_part_end(well_formed, begin);
    if (end == 0) {
      if (!search) search.emplace(splitting_pattern(), well_formed);
      end = search->next(begin)->second;
    }
    const std::string_view part = text.substr(begin, end - begin);
    if (const std::optional<TokenId> token = whole.find(part)) {
      encoding.ids.push_back(*token);
      encoding.spans.emplace_back(offset + begin, offset + end);
    } else {
      lengths.clear();
      merger.merge(part, encoding.ids, lengths);
      std::size_t token_begin = offset + begin;
      for (const std::uint32_t length : lengths) {
        encoding.spans.emplace_back(token_begin, token_begin + length);
        token_begin += length;
      }
    }
    begin = end;
  }
}

std::string Tokenizer::decode(const TokenIds& ids) const {
  std::string text;
  for (const TokenId id : ids) text += decode(id);
  return text;
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
  return data_->longest;
}

TokenId Tokenizer::end_of_text() const {
  if (!data_->end_of_text) {
    throw DataError(data_->vocab_source, "",
                    "expected the token " + std::string(end_of_text_entry) +
                        ", with which documents begin, got none",
                    Remedy::no_bos);
  }
  return *data_->end_of_text;
}

}  // namespace headscope
