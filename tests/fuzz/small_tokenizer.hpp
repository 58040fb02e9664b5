#pragma once

#include <string>
#include <vector>

#include "support/small_tokenizer.hpp"

namespace headscope::fuzz {

using test::small_tokenizer;

/// Text of a vocab.json with a token for every byte, `<|endoftext|>` and these entries without
/// duplicates.
std::string vocabulary_json(const std::vector<std::string>& entries);

}  // namespace headscope::fuzz
