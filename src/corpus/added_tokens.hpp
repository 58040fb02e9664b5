#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/alignment.hpp"
#include "headscope/types.hpp"

/// Tokens that were added to a trained vocabulary.
namespace headscope {

/// Stands for its own text, not for bytes of the alphabet.
struct AddedToken {
  std::string text;
  TokenId id = 0;
  bool is_special = false;     ///< not searched for in texts
  bool is_normalized = false;  ///< searched for in normalised text, where no other was found
};

/// @param json    `added_tokens` of a `tokenizer.json`; may be empty.
/// @param source  named in errors.
/// @throws DataError if it is malformed, or a token is searched for by rules that are not known
/// here (`lstrip`, `rstrip`, `single_word`).
std::vector<AddedToken> parse_added_tokens(std::string_view json, const std::string& source);

/// Finds the added tokens in texts: leftmost first, the longest of several.
class AddedTokenSearch {
 public:
  /// @param normalized  the normal form of a token that is searched for in normalised texts.
  AddedTokenSearch(const std::vector<AddedToken>& tokens,
                   const std::function<std::string(const std::string&)>& normalized);

  /// A token, or text between tokens.
  struct Part {
    ByteSpan span;
    std::optional<TokenId> token;
  };
  /// The parts of a text as it is, in order; none is empty.
  std::vector<Part> split(std::string_view text) const { return split_by(ordinary_, text); }
  /// The same of normalised text, with the tokens that are searched for there.
  std::vector<Part> split_normalized(std::string_view text) const {
    return split_by(normalized_, text);
  }

 private:
  // By first byte; longer ones first.
  using Tokens = std::map<char, std::vector<AddedToken>>;
  static std::vector<Part> split_by(const Tokens& tokens, std::string_view text);

  Tokens ordinary_, normalized_;
};

}  // namespace headscope
