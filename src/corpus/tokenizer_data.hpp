#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "corpus/added_tokens.hpp"
#include "corpus/byte_pair_merger.hpp"
#include "corpus/normalizer.hpp"
#include "corpus/tokenizer_settings.hpp"
#include "corpus/vocabulary.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope {

/// What a tokenizer holds, and how it encodes.
struct Tokenizer::Data {
  std::string vocab_source;
  std::string sha256;
  TokenizerSettings settings;
  EntryIds ids;
  std::vector<std::string> entries = {};  // of each token, as its file spells it
  std::vector<std::string> bytes = {};    // of each token
  std::size_t longest = 0;                // bytes of the longest token
  bool separates_words = true;            // no token joins two words
  std::vector<TokenId> byte_tokens;
  BytePairMerger merger;
  std::optional<TokenId> first_token = std::nullopt;
  std::string first_token_reason = {};
  /// Parts of a text that are one token; keys point into `bytes` and `entries`.
  std::unordered_map<std::string_view, TokenId> whole_tokens = {};
  AddedTokenSearch added;

  /// A text, or its normal form, and where it stands.
  struct Text {
    std::string_view bytes, well_formed;
    std::size_t offset = 0;  // of `bytes` in the encoded text
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
  /// Encodes a text between added tokens of the unnormalised text.
  void encode_section(const Text& text, Encoding& encoding) const;
  /// Encodes a text without added tokens.
  void encode_unadded(const Text& text, Encoding& encoding) const;
  /// Splits by the settings' splits from number `step` on, and encodes the parts.
  void split(const Text& text, std::size_t step, Encoding& encoding) const;
  /// Encodes a part that nothing splits further.
  void encode_part(const Text& part, Encoding& encoding) const;
  /// Appends a part's tokens before merging. A dropped byte counts to the token before it, or, at
  /// the beginning, to the next one.
  void append_symbols(std::string_view part, TokenIds& tokens,
                      std::vector<std::uint32_t>& lengths) const;
  void add_entry(const VocabularyEntry& entry);
};

}  // namespace headscope
