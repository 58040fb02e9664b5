#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headscope::byte_alphabet {

/// GPT-2 vocabulary files write every byte as a visible character: printable Latin-1 bytes as
/// themselves, the others as U+0100 and up in order (a space is `Ġ`).
///
/// Source: Radford et al. 2019, the released encoder.

/// A byte as its visible character, in UTF-8.
std::string encode(unsigned char byte);

/// The bytes a vocabulary entry stands for. An entry with any character outside the alphabet (an
/// added special token) stands for its own bytes.
std::string decode(std::string_view entry);

/// A byte as vocabularies of characters spell it: `<0x0A>`.
std::string fallback(unsigned char byte);

/// The byte that such an entry stands for; none if the entry is another.
std::optional<unsigned char> parse_fallback(std::string_view entry);

}  // namespace headscope::byte_alphabet
