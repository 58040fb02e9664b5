#pragma once

#include <cstdint>
#include <string_view>

#include "files/descriptor.hpp"
#include "files/hdf5_call.hpp"

namespace headscope::hdf5 {

/// Makes a file access list open files for reading with a driver of our own, which refuses sizes
/// that no undamaged file has: HDF5 allocates as much as the header of a group's names (a local
/// heap) or of an object says before it compares that with the file's size.
void use_checked_source(const Handle& access, const Place& place);

/// A file open with that driver, for what is read without HDF5.
struct Source {
  Descriptor descriptor = Descriptor();
  std::uint64_t size = 0;
  std::size_t address_bytes = 0,
              length_bytes = 0;  ///< of numbers in the file's structures; 0 if damaged
};
const Source& source_of(hid_t file, const Place& place);

/// A number of up to 8 bytes, as HDF5 stores those of its structures.
std::uint64_t little_endian(std::string_view bytes);

}  // namespace headscope::hdf5
