#include "corpus/vocabulary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.hpp"
#include "base/json_text.hpp"
#include "corpus/byte_alphabet.hpp"
#include "headscope/error.hpp"

namespace headscope {

std::vector<VocabularyEntry> parse_vocabulary(const TokenizerFiles& files,
                                              const std::vector<AddedToken>& added) {
  const std::string& source = files.vocab_source;
  const auto vocabulary = parse_json(files.vocab_json, source);
  if (!vocabulary.is_object()) {
    throw DataError(
        source, "",
        "expected a JSON object of tokens and ids, got " + std::string(vocabulary.type_name()));
  }
  if (vocabulary.empty()) throw DataError(source, "", "expected tokens, got none");
  const auto in_vocabulary = [&](const AddedToken& token) {
    return vocabulary.contains(token.text);
  };
  const auto n_inside = static_cast<std::size_t>(std::ranges::count_if(added, in_vocabulary));
  const std::size_t n = vocabulary.size() + added.size() - n_inside;
  std::vector<VocabularyEntry> entries(n);
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

std::vector<TokenId> byte_tokens(const EntryIds& ids, const TokenizerSettings& settings,
                                 const std::string& source) {
  std::vector<TokenId> tokens(256, no_token);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    const std::string entry =
        settings.byte_level ? byte_alphabet::encode(value) : byte_alphabet::fallback(value);
    const auto found = ids.find(entry);
    if (found == ids.end() && settings.byte_level && settings.drops_bytes) continue;
    if (found == ids.end()) {
      throw DataError(source, "",
                      "expected a token for every byte, got none for byte " + std::to_string(byte) +
                          " (\"" + entry + "\")");
    }
    tokens[byte] = found->second;
  }
  return tokens;
}

BytePairMerger parse_merges(const EntryIds& ids, const TokenizerFiles& files) {
  BytePairMerger merger;
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

}  // namespace headscope
