#pragma once

#include <string>

#include "files/hdf5_file.hpp"

namespace headscope {

/// Checks the root attribute `format` of a file that Headscope wrote.
/// @param kind      `results`: formats are named `headscope results 3`.
/// @param expected  the number of the format that is read.
/// @throws DataError for another HDF5 file, and for the format of an earlier or later version.
void check_format(const hdf5::InputFile& file, const std::string& kind, int expected);

/// `headscope results 3`
std::string format_name(const std::string& kind, int number);

}  // namespace headscope
