#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// [begin, end) in bytes of a text.
using ByteSpan = std::pair<std::size_t, std::size_t>;

/// The spans of a multiword token's words: consecutive if their forms concatenate to the token's
/// form, else each the whole token.
///
/// @param span   of the multiword token.
/// @param form   its form.
/// @param forms  of its words.
std::vector<ByteSpan> spans_within(ByteSpan span, std::string_view form,
                                   const std::vector<std::string_view>& forms);

/// The word each token belongs to: the one it shares most characters with, the first among equals.
/// Leading spaces of a token do not count; a token of spaces alone, or of nothing that is in a
/// word, belongs to none. A character counts for every token that holds any of its bytes.
///
/// @param text         the tokenised text.
/// @param token_spans  of the tokens, in order and without overlap.
/// @param word_spans   of the words, by increasing begin and end.
/// @return             one index into `word_spans` for each token.
std::vector<std::optional<Index>> align(std::string_view text,
                                        const std::vector<ByteSpan>& token_spans,
                                        const std::vector<ByteSpan>& word_spans);

}  // namespace headscope
