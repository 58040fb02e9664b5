#pragma once

#include <string>
#include <string_view>

#include "headscope/tokenizer.hpp"

namespace headscope {

/// Reads a `tokenizer.json` of Hugging Face's tokenizers, which must be a byte-pair encoding of
/// bytes, or of characters with byte fallback (TokenizerSettings). Merges may be texts or pairs.
/// @param source  names the file in errors.
/// @throws DataError naming the part that is of another kind, or malformed.
TokenizerFiles parse_tokenizer_json(std::string_view text, const std::string& source);

}  // namespace headscope
