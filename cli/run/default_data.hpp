#pragma once

#include <string>

namespace headscope {

/// Path of a file of the embedded default: below `$HEADSCOPE_DATA` if set, the installed
/// `share/headscope` beside the program, or the source tree's `data/`.
/// @throws DataError naming the places looked at.
std::string default_data_path(const std::string& name);

}  // namespace headscope
