#pragma once

#include <string>
#include <vector>

#include "headscope/types.hpp"

namespace headscope::test {

/// Tokens of one document of a golden file: dataset `documents/{d}/tokens`.
TokenIds golden_tokens(const std::string& golden_file, std::size_t document);

/// Writes a token-id corpus that `--corpus` takes.
void write_token_corpus(const std::string& path, const std::vector<TokenIds>& documents);

}  // namespace headscope::test
