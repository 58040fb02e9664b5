#pragma once

#include <string>
#include <string_view>

namespace headscope {

/// The text as valid UTF-8: broken bytes and NUL become U+FFFD.
std::string valid_utf8(std::string_view text);

/// Printable UTF-8 on one line: as above, and control characters and line ends become spaces.
std::string one_line(std::string_view text);

/// The text as valid UTF-8 that loses nothing: each byte that is not part of any as `\xNN`, ASCII
/// control characters likewise.
std::string escaped_utf8(std::string_view text);

}  // namespace headscope
