#pragma once

#include "files/hdf5_call.hpp"

namespace headscope::hdf5 {

/// Makes a file access list open files for reading with a driver of our own, which refuses sizes
/// that no undamaged file has: HDF5 allocates as much as the header of a group's names (a local
/// heap) says before it compares that with the file's size.
void use_checked_source(const Handle& access, const Place& place);

}  // namespace headscope::hdf5
