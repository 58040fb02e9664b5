#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace headscope {

/// Puts a text into Unicode's normal form C: letters and their marks as one character where there
/// is one.
///
/// @param text  valid UTF-8.
/// @param take  gets the text in order, in parts of at least a grapheme: [begin, end) of the text,
///              and what stands there in the normal form.
/// Source: Unicode Standard Annex 15; Unicode 15 by utf8proc. Hugging Face's tokenizers have an
/// older Unicode: sequences of marks that came after version 9 may stand in another order there.
void compose_canonically(
    std::string_view text,
    const std::function<void(std::size_t begin, std::size_t end, std::string_view composed)>& take);

}  // namespace headscope
