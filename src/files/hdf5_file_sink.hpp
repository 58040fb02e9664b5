#pragma once

#include "files/hdf5_call.hpp"

namespace headscope::hdf5 {

/// An HDF5 file driver that writes to a file descriptor.
///
/// HDF5 does not survive a failed write: closing a dataset or file may then lose cached data, or
/// crash. So HDF5 is told that every write succeeds; after the first failure nothing more is
/// written and `error()` says why.
class FileSink {
 public:
  /// @param descriptor  open for reading and writing, for as long as this lives; not owned.
  explicit FileSink(int descriptor) : descriptor_(descriptor) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /// Makes a file access list use this sink, whatever name H5Fcreate is given.
  void use(const Handle& access, const Place& place);
  /// The errno of the first failed write; 0 if none failed.
  int error() const { return error_; }

  int descriptor() const { return descriptor_; }
  void write(const char* bytes, std::size_t size, std::uint64_t begin);
  /// Bytes beyond the end read as zeros. @return whether the file could be read
  bool read(char* bytes, std::size_t size, std::uint64_t begin) const;
  void resize(std::uint64_t size);

 private:
  int descriptor_;
  int error_ = 0;
};

}  // namespace headscope::hdf5
