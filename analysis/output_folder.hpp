#pragma once

#include <string>

namespace headscope {

/// Makes a folder and those above it. @throws DataError with the reason if it cannot be made.
void make_folder(const std::string& path);

/// Removes a file, or a folder with all in it. @throws DataError with the reason if it cannot be.
void remove_output(const std::string& path);

}  // namespace headscope
