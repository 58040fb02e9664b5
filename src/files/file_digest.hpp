#pragma once

#include <string>

/// The last line of every HDF5 file that Headscope writes: the SHA-256 of everything before it.
/// HDF5 ignores what follows its own data. Its own checksums leave out variable-length text, and
/// damaged structures may crash it, so the line is checked before HDF5 opens the file.
namespace headscope {

/// The line to end a file with. @throws DataError if the file cannot be read.
std::string digest_line(const std::string& path);

/// A file that ends where HDF5's own data end, as those of other programs do, passes.
/// @throws DataError if the line does not match what is before it.
void check_digest(const std::string& path);

}  // namespace headscope
