#pragma once

#include <string_view>

namespace headscope {

/// Whether the last character of a text is white space; false for an empty text.
bool ends_in_white_space(std::string_view text);

}  // namespace headscope
