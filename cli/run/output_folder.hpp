#pragma once

#include <string>

namespace headscope {

/// Makes a folder and those above it. @throws DataError with the reason if it cannot be made.
void make_folder(const std::string& path);

}  // namespace headscope
