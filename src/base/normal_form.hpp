#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace headscope {

/// Puts a text into Unicode's normal form C: letters and their marks as one character where there
/// is one.
///
/// @param text  valid UTF-8.
/// @param take  gets the text in order, in parts that change or stay as a whole: [begin, end) of
///              the text, and what stands there in the normal form.
/// Source: Unicode Standard Annex 15, with the characters that Hugging Face's tokenizers know.
void compose_canonically(
    std::string_view text,
    const std::function<void(std::size_t begin, std::size_t end, std::string_view composed)>& take);

}  // namespace headscope
