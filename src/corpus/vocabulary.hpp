#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "corpus/added_tokens.hpp"
#include "corpus/byte_pair_merger.hpp"
#include "corpus/tokenizer_settings.hpp"
#include "headscope/tokenizer.hpp"

/// The tokens and merges of a tokenizer, from its files.
namespace headscope {

/// An entry of a vocabulary, as its file spells it.
struct VocabularyEntry {
  std::string text;
  bool is_added = false;
};

/// The entries of vocabulary and added tokens, by id.
/// @throws DataError on malformed text, or ids that are not 0 .. n - 1 for n tokens, each once.
std::vector<VocabularyEntry> parse_vocabulary(const TokenizerFiles& files,
                                              const std::vector<AddedToken>& added);

using EntryIds = std::unordered_map<std::string, TokenId>;

/// Stands for the token of a byte that has none.
constexpr TokenId no_token = -1;

/// The token of each single byte.
/// @throws DataError if a byte has none and must have one.
std::vector<TokenId> byte_tokens(const EntryIds& ids, const TokenizerSettings& settings,
                                 const std::string& source);

/// @throws DataError on a line that is no pair of tokens, or a merge of unknown tokens.
BytePairMerger parse_merges(const EntryIds& ids, const TokenizerFiles& files);

}  // namespace headscope
