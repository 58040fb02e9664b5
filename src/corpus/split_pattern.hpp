#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// A pattern by which a tokenizer splits texts, written for Oniguruma (which Hugging Face's
/// tokenizers use), as one for PCRE2 that matches the same.
///
/// @throws std::invalid_argument with the construct, such as `\w`, that the two may read
/// differently, or that real tokenizers do not use.
std::string pcre2_pattern(std::string_view oniguruma);

}  // namespace headscope
