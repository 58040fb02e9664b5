#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unicode_pattern.hpp"
#include "corpus/normalizer.hpp"

namespace headscope {

/// The value of a key; null if it is absent or the parent is no object.
const nlohmann::json& json_at(const nlohmann::json& parent, const char* key);

/// Splits a text where a pattern matches: into the matches and what is between them.
struct SplitStep {
  std::shared_ptr<const UnicodePattern> pattern;  ///< none: GPT-2's, which has a faster search
  bool keeps_matches = true, keeps_gaps = true;   ///< else they are dropped
};

/// How a tokenizer reads a text, apart from vocabulary and merges. The defaults are GPT-2's.
///
/// Added tokens are found in the text; what is between them is normalised. Further added tokens
/// are found in the normal form; what is between these gets its spaces marked, and is split.
struct TokenizerSettings {
  Normalizer normalizer, marking;
  std::vector<SplitStep> splits{SplitStep{}};
  bool byte_level = true;      ///< the vocabulary spells bytes; else characters, with `<0x0A>` for
                               ///< the bytes of those that it lacks
  bool drops_bytes = false;    ///< bytes without a token are left out of texts
  bool ignore_merges = false;  ///< a part that is a token needs no merges
  std::optional<std::string> prepended;  ///< the token that it puts before a text

  /// Whether it is GPT-2's, or differs only in what becomes of bytes without a token.
  bool is_default() const;
  /// What stands for a space in the vocabulary; empty if bytes do.
  std::string space_mark() const;

  /// @param json    `normalizer`, `pre_tokenizer`, `post_processor` and `model` as in a
  ///                `tokenizer.json`; empty: GPT-2's.
  /// @param source  named in errors.
  /// @throws DataError naming the part that is not supported, or malformed.
  static TokenizerSettings parse(std::string_view json, const std::string& source);
};

}  // namespace headscope
