#pragma once

#include <string_view>

#include "headscope/tokenizer.hpp"

namespace headscope::fuzz {

/// Encodes a text: the tokens must cover it and decode to it.
void check_round_trip(const Tokenizer& tokenizer, std::string_view text);

}  // namespace headscope::fuzz
