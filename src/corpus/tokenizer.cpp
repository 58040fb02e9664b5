#include "headscope/tokenizer.hpp"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/fields.hpp"
#include "base/json_text.hpp"
#include "corpus/byte_alphabet.hpp"
#include "corpus/byte_pair_merger.hpp"
#include "files/file_version.hpp"
#include "files/read_file.hpp"
#include "files/sha256.hpp"
#include "headscope/unicode_pattern.hpp"
#include "headscope/utf8.hpp"

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

std::vector<std::string> parse_vocabulary(std::string_view text, const std::string& source) {
  const auto json = parse_json(text);
  if (!json.is_object()) {
    throw DataError(source, "",
                    "expected a JSON object of tokens and ids, got " +
                        std::string(json.is_discarded() ? "malformed JSON" : json.type_name()));
  }
  if (json.empty()) throw DataError(source, "", "expected tokens, got none");
  std::vector<std::string> entries(json.size());
  std::vector<bool> taken(json.size());
  for (const auto& item : json.items()) {
    const std::string& entry = item.key();
    const nlohmann::json& id = item.value();
    const auto fail = [&](const std::string& got) {
      throw DataError(source, "",
                      "expected ids 0 to " + std::to_string(json.size() - 1) + ", each once, got " +
                          got + " for \"" + entry + "\"");
    };
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= json.size()) fail(id.dump());
    const auto index = id.get<std::size_t>();
    if (taken[index]) fail(id.dump() + " again");
    taken[index] = true;
    entries[index] = entry;
  }
  return entries;
}

std::string sha256_of(std::string_view vocab_json, std::string_view merges) {
  Sha256 hash;
  hash.add(vocab_json);
  hash.add(merges);
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
    merger.add(id(left), id(right), id(left + right), rank++);
  }
  return merger;
}

std::string read_unchanged(const std::string& path) {
  return FileVersion(path).during([&] { return read_file(path); });
}

using Names = std::array<const char*, 2>;
constexpr Names vocab_names{"vocab.json", "encoder.json"}, merges_names{"merges.txt", "vocab.bpe"};

/// The first of the names that exists in the folder.
std::optional<std::string> first_of(const std::string& directory, const Names& names) {
  for (const char* const name : names) {
    const auto path = std::filesystem::path(directory) / name;
    if (std::filesystem::is_regular_file(path)) return path.string();
  }
  return std::nullopt;
}

std::string expect_one_of(const std::string& directory, const Names& names) {
  if (const auto path = first_of(directory, names)) return *path;
  throw DataError(directory, "",
                  std::string("expected ") + names[0] + " or " + names[1] + ", got neither");
}

}  // namespace

struct Tokenizer::Data {
  std::string vocab_source;
  std::string sha256;
  std::vector<std::string> bytes;  // of each token
  BytePairMerger merger;
  std::optional<TokenId> end_of_text;
  // Parts of text that merge into a single token; keys point into `bytes`.
  std::unordered_map<std::string_view, TokenId> whole;
};

Tokenizer::Tokenizer(std::string_view vocab_json, std::string_view merges,
                     const std::string& source)
    : Tokenizer(
          {std::string(vocab_json), std::string(merges), source + ":vocab", source + ":merges"}) {}

Tokenizer::Tokenizer(const TokenizerFiles& files) {
  const std::vector<std::string> entries = parse_vocabulary(files.vocab_json, files.vocab_source);
  EntryIds ids;
  for (std::size_t id = 0; id < entries.size(); ++id) {
    ids.emplace(entries[id], static_cast<TokenId>(id));
  }
  data_ = std::make_unique<Data>(Data{files.vocab_source,
                                      sha256_of(files.vocab_json, files.merges),
                                      {},
                                      make_merger(ids, files),
                                      {},
                                      {}});
  data_->bytes.reserve(entries.size());
  TokenIds merged;
  std::vector<std::uint32_t> lengths;
  for (const std::string& entry : entries) {
    const std::string& bytes = data_->bytes.emplace_back(byte_alphabet::decode(entry));
    merged.clear();
    data_->merger.merge(bytes, merged, lengths);
    if (merged.size() == 1) data_->whole.emplace(bytes, merged[0]);
  }
  if (const auto found = ids.find(std::string(end_of_text_entry)); found != ids.end()) {
    data_->end_of_text = found->second;
  }
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

const std::string& Tokenizer::sha256() const {
  return data_->sha256;
}

bool has_tokenizer_files(const std::string& directory) {
  return first_of(directory, vocab_names) && first_of(directory, merges_names);
}

TokenizerFiles read_tokenizer_files(const std::string& directory) {
  const std::string vocab = expect_one_of(directory, vocab_names),
                    merges = expect_one_of(directory, merges_names);
  return {read_unchanged(vocab), read_unchanged(merges), vocab, merges};
}

Tokenizer Tokenizer::from_directory(const std::string& directory) {
  return Tokenizer(read_tokenizer_files(directory));
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
  std::vector<std::uint32_t> lengths;
  UnicodePattern::Search search(splitting_pattern(), well_formed);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = search.next(begin)->second;
    const std::string_view part = text.substr(begin, end - begin);
    if (const auto found = data_->whole.find(part); found != data_->whole.end()) {
      encoding.ids.push_back(found->second);
      encoding.spans.emplace_back(begin, end);
    } else {
      lengths.clear();
      data_->merger.merge(part, encoding.ids, lengths);
      std::size_t token_begin = begin;
      for (const std::uint32_t length : lengths) {
        encoding.spans.emplace_back(token_begin, token_begin + length);
        token_begin += length;
      }
    }
    begin = end;
  }
  return encoding;
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

TokenId Tokenizer::end_of_text() const {
  if (!data_->end_of_text) {
    throw DataError(data_->vocab_source, "",
                    "expected the token " + std::string(end_of_text_entry) + ", got none");
  }
  return *data_->end_of_text;
}

}  // namespace headscope
