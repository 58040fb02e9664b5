#pragma once

#include <string>

namespace headscope {

/// Creates a folder and its parents. @throws DataError with the reason if that fails.
void make_folder(const std::string& path);

}  // namespace headscope
