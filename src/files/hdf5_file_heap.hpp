#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/hdf5_file_source.hpp"

namespace headscope::hdf5 {

/// Elements of variable length: texts, and lists of references. They lie in the file's global
/// heap, whose sizes HDF5 1.10 believes: a damaged one makes it allocate gigabytes, read outside
/// its memory, or never end. So HDF5 only says where elements lie, and they are read here.
/// Source: HDF5 File Format Specification, III.E.
class GlobalHeap {
 public:
  /// @param read  H5Dread or H5Aread into a buffer of this memory type; negative on failure.
  /// @return  the bytes of each element, valid as long as the heap.
  /// @throws DataError  if an element lies outside the heap, or all are longer than the file.
  std::vector<std::string_view> read_elements(const Source& source, std::size_t count,
                                              std::size_t item_bytes, const Place& place,
                                              const std::function<herr_t(hid_t, void*)>& read);

 private:
  /// Part of the heap, with an object for each number.
  struct Collection {
    std::string bytes;
    std::map<std::uint64_t, std::string_view> objects;
  };

  const Collection& collection(const Source& source, std::uint64_t address, const Place& place);

  std::map<std::uint64_t, Collection> collections_;
  std::uint64_t n_byte_ = 0;
};

}  // namespace headscope::hdf5
