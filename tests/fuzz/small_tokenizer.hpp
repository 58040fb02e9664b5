#pragma once

#include <string>
#include <vector>

#include "headscope/tokenizer.hpp"

namespace headscope::fuzz {

/// The tokenizer of tests/data/tokenizer, with a few hundred entries.
const Tokenizer& small_tokenizer();

/// Text of a vocab.json with a token for every byte, `<|endoftext|>` and these entries without
/// duplicates.
std::string vocabulary_json(const std::vector<std::string>& entries);

}  // namespace headscope::fuzz
