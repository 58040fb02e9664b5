#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "headscope/error.hpp"

namespace headscope {

/// `path: cannot be opened: No such file or directory`, with the reason that errno gives.
DataError cannot_open(const std::string& path);

/// Opens a file for reading. @throws DataError if it is a folder, pipe or device, cannot be opened,
/// or is a Git LFS pointer, which stands for a file that was not downloaded.
std::ifstream open_to_read(const std::string& path);

/// @throws DataError if reading the stream has failed, which std::getline takes for its end.
/// @param path  that the error names.
void check_was_read(const std::istream& stream, const std::string& path);

/// Calls `take` with the bytes of a file, or the first `n_byte` of them, block by block.
/// @throws DataError if it cannot be opened or read.
void read_blocks(const std::string& path, const std::function<void(std::string_view)>& take,
                 std::uintmax_t n_byte = std::numeric_limits<std::uintmax_t>::max());
/// The same of what is left of a stream.
void read_blocks(std::istream& stream, const std::string& path,
                 const std::function<void(std::string_view)>& take,
                 std::uintmax_t n_byte = std::numeric_limits<std::uintmax_t>::max());

/// All bytes of a file. @throws DataError if it cannot be opened or read.
std::string read_file(const std::string& path);

}  // namespace headscope
