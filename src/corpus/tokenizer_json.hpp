#pragma once

#include <string>
#include <string_view>

#include "headscope/tokenizer.hpp"

namespace headscope {

/// Reads a `tokenizer.json` of Hugging Face's tokenizers, which must be a byte-level BPE as
/// GPT-2's: without normalizer, split by GPT-2's pattern, no prefix space. Merges may be texts or
/// pairs.
/// @param source  names the file in errors.
/// @throws DataError naming the part that is of another kind, or malformed.
TokenizerFiles parse_tokenizer_json(std::string_view text, const std::string& source);

}  // namespace headscope
