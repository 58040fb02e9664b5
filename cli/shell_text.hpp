#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// A word as text that a shell parses back, quoted where needed. Control characters and bytes that
/// are not UTF-8 are escaped, in bash's and zsh's form `$'caf\xE9'`.
std::string shell_word(std::string_view word);

}  // namespace headscope
