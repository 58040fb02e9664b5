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
  /// `normalizer`, `pre_tokenizer`, `post_processor` and `model` of a `tokenizer.json`, but for
  /// vocabulary and merges; empty: GPT-2's.
  std::string settings = {}, settings_source = {};
};

/// The tokenizer in a folder (the current folder if empty), as read_tokenizer_files reads it; none
/// if the folder has none. @throws DataError
std::optional<TokenizerFiles> find_tokenizer_files(const std::string& directory);

/// Reads a folder's `tokenizer.json`; else `vocab.json` (or `encoder.json`), `merges.txt` (or
/// `vocab.bpe`), and added tokens of `tokenizer_config.json` or `added_tokens.json`.
/// @param path  the folder, or a `tokenizer.json` itself.
/// @throws DataError naming the file that is missing, cannot be read or is of another kind of
/// tokenizer.
TokenizerFiles read_tokenizer_files(const std::string& path);

/// The tokenizer in a model's file, else in the folder that the file lies in; none if neither has
/// one. @throws DataError
std::optional<TokenizerFiles> tokenizer_files_of(const Model& model);

/// Puts a tokenizer into a model, to be saved with it.
void store_tokenizer(const TokenizerFiles& files, Model& model);

/// Byte-pair encoding as Hugging Face's tokenizers do it, exact: of bytes (GPT-2, Pythia, Llama 3,
/// Qwen, SmolLM2), or of characters, with bytes for those without a token (Llama 2, Mistral).
///
/// Text is split by patterns, GPT-2's or the tokenizer's, with Unicode classes from PCRE2, and each
/// part is merged pair by pair, lowest rank first, leftmost first. Invalid UTF-8 is kept: each
/// invalid byte is split as if it were U+FFFD (a character that is no letter, number or space) and
/// encoded as itself. Where nothing is normalised decode(encode(bytes)) == bytes for every input.
///
/// Const methods are safe to call from several threads at once.
///
/// Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; Kudo &
/// Richardson 2018, "SentencePiece".
class Tokenizer {
 public:
  /// A `#version` line of the merges is ignored.
  /// @throws DataError  on malformed text, a merge of unknown tokens, a byte without a token, ids
  /// that are not 0 .. n - 1 for n tokens, each once, or settings that are not supported (named).
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
    /// [begin, end) of each token in bytes of the text. The tokens of a character that was
    /// normalised share its span; that of a space put before the text is empty.
    std::vector<std::pair<std::size_t, std::size_t>> spans;
  };

  /// Added tokens are recognised, except special ones: `<|endoftext|>` in a text is encoded like
  /// any other text.
  /// @param continues  the text follows other text: no space is put before it.
  Encoding encode(std::string_view text, bool continues = false) const;

  /// The bytes the tokens stand for, without the space that the tokenizer puts before a text.
  /// @throws ShapeError on an id outside the vocabulary.
  std::string decode(const TokenIds& ids) const;
  std::string decode(TokenId id) const;

  /// The name of its vocabulary in errors.
  const std::string& source() const;
  /// SHA-256 of the tokenizer's files in the order of TokenizerFiles, lower-case hexadecimal.
  const std::string& sha256() const;

  std::size_t size() const;
  /// The most bytes of a text that one token stands for.
  std::size_t longest_token() const;
  /// Most tokens that a space before a text adds.
  std::size_t most_space_tokens() const;
  /// Whether no token joins two words over a space. A text that is cut before a space then has the
  /// tokens of its two parts, if the second part is encoded with `continues`.
  bool separates_words() const;

  /// The id of a token by its entry in the vocabulary: `Ġthe`, `▁the`, `<|endoftext|>`.
  std::optional<TokenId> token(std::string_view entry) const;
  /// `; did you mean </s>?` for an entry that it lacks; empty if none is near.
  std::string suggestion(const std::string& entry) const;

  /// Sets the token that documents begin with. Without that: the one that the tokenizer itself puts
  /// before a text, else `<|endoftext|>`.
  /// @param reason  who says so: `--bos`.
  /// @throws DataError if there is no such token.
  void begin_with(const std::string& entry, const std::string& reason);
  /// @throws ShapeError on an id outside the vocabulary.
  void begin_with(TokenId id, const std::string& reason);
  bool has_first_token() const;
  /// @throws DataError if there is none.
  TokenId first_token() const;
  /// Who chose the first token, as in begin_with.
  const std::string& first_token_reason() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// Checks that a tokenizer has as many tokens as a model, or fewer where a vocabulary was padded to
/// a round number. @throws DataError naming both.
void check_tokenizer_fits(const Tokenizer& tokenizer, const Model& model);

}  // namespace headscope
