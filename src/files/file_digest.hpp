#pragma once

#include <string>

/// A last line with the SHA-256 of everything before it. HDF5 ignores what follows its own data; it
/// checks numbers but not variable-length text, and may crash on damaged text.
namespace headscope {

/// The line to end a file with. @throws DataError if the file cannot be read.
std::string digest_line(const std::string& path);

/// Files that do not end in such a line pass.
/// @throws DataError if the line does not match what is before it.
void check_digest(const std::string& path);

}  // namespace headscope
