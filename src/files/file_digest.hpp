#pragma once

#include <string>

/// A last line that holds the SHA-256 of all before it. HDF5 takes no notice of what follows its
/// own data, checks numbers but not text of variable length, and may crash on text that is damaged.
namespace headscope {

/// The line to end a file with. @throws DataError if the file cannot be read.
std::string digest_line(const std::string& path);

/// Files that do not end in such a line pass.
/// @throws DataError if the line does not fit what is before it.
void check_digest(const std::string& path);

}  // namespace headscope
