#pragma once

#include <string>

namespace headscope {

/// Path of a default data file: in `$HEADSCOPE_DATA` if set, else in the installed
/// `share/headscope` or in the source tree's `data/`.
/// @throws DataError naming the folders searched.
std::string default_data_path(const std::string& name);

}  // namespace headscope
