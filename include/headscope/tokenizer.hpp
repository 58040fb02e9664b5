#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

struct Model;

/// The texts that define a tokenizer.
struct TokenizerFiles {
  std::string vocab_json;    ///< `vocab.json` or `encoder.json`: token to id
  std::string merges;        ///< `merges.txt` or `vocab.bpe`: one merge a line
  std::string added_tokens;  ///< as in a `tokenizer.json`; empty if there are none
  /// Names used in errors.
  std::string vocab_source, merges_source, added_source;
};

/// The tokenizer in a folder (the current folder if empty), as read_tokenizer_files reads it; none
/// if the folder has none. @throws DataError
std::optional<TokenizerFiles> find_tokenizer_files(const std::string& directory);

/// Reads `tokenizer.json` of a folder, else `vocab.json` or `encoder.json`, `merges.txt` or
/// `vocab.bpe`, and the added tokens of `tokenizer_config.json` or `added_tokens.json`.
/// @param path  the folder, or a `tokenizer.json` itself.
/// @throws DataError naming the file that is missing, cannot be read or is of another kind of
/// tokenizer.
TokenizerFiles read_tokenizer_files(const std::string& path);

/// The tokenizer in a model's file, else in the folder that the file lies in; none if neither has
/// one. @throws DataError
std::optional<TokenizerFiles> tokenizer_files_of(const Model& model);

/// Puts a tokenizer into a model, to be saved with it.
void store_tokenizer(const TokenizerFiles& files, Model& model);

/// GPT-2's byte-level byte-pair encoding, exact.
///
/// Text is split by GPT-2's pattern, with Unicode classes from PCRE2, and each part is merged pair
/// by pair, lowest rank first, leftmost first. Invalid UTF-8 is kept, so decode(encode(bytes)) ==
/// bytes for every input: each invalid byte is split as if it were U+FFFD (a character that is no
/// letter, number or space) and encoded as itself.
///
/// Every method is safe to call from several threads at once.
///
/// Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
class Tokenizer {
 public:
  /// A `#version` line of the merges is ignored.
  /// @throws DataError  on malformed text, a merge of unknown tokens, a byte without a token, or
  /// ids that are not 0 .. n - 1 for n tokens, each once.
  explicit Tokenizer(const TokenizerFiles& files);
  /// @param source  errors name `source:vocab` and `source:merges`.
  Tokenizer(std::string_view vocab_json, std::string_view merges, const std::string& source);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// As read_tokenizer_files.
  static Tokenizer from_directory(const std::string& directory);

  struct Encoding {
    TokenIds ids;
    /// [begin, end) of each token in bytes of the text.
    std::vector<std::pair<std::size_t, std::size_t>> spans;
  };

  /// Added tokens are recognised, except special ones: `<|endoftext|>` in a text is encoded like
  /// any other text.
  Encoding encode(std::string_view text) const;

  /// The bytes the tokens stand for. @throws ShapeError on an id outside the vocabulary.
  std::string decode(const TokenIds& ids) const;
  std::string decode(TokenId id) const;

  /// The name of its vocabulary in errors.
  const std::string& source() const;
  /// SHA-256 of its texts, one after the other, lower-case hexadecimal.
  const std::string& sha256() const;

  std::size_t size() const;
  /// Bytes of the longest token.
  std::size_t longest_token() const;
  /// The id of `<|endoftext|>`. @throws DataError if the vocabulary has none.
  TokenId end_of_text() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// Checks that a tokenizer has as many tokens as a model, or fewer where a vocabulary was padded to
/// a round number. @throws DataError naming both.
void check_tokenizer_fits(const Tokenizer& tokenizer, const Model& model);

}  // namespace headscope
