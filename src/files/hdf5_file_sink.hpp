#pragma once

#include "files/hdf5_call.hpp"

namespace headscope::hdf5 {

/// Where a file that HDF5 writes goes: an open file, written by ourselves.
///
/// HDF5 does not survive a write that fails: closing a dataset or file may lose what it had kept
/// back, or crash. So it is told that every write succeeds; from the first that does not, nothing
/// is written any more and `error()` says why.
class FileSink {
 public:
  /// @param descriptor  open for reading and writing, for as long as this lives; not owned.
  explicit FileSink(int descriptor) : descriptor_(descriptor) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /// Makes a file access list lead here, whatever name is then given to H5Fcreate.
  void use(const Handle& access, const Place& place);
  /// Why the first failed write failed, as in errno; 0 if all went well.
  int error() const { return error_; }

  int descriptor() const { return descriptor_; }
  void write(const char* bytes, std::size_t size, std::uint64_t begin);
  /// Bytes beyond the end are zeros. @return whether the file could be read
  bool read(char* bytes, std::size_t size, std::uint64_t begin) const;
  void resize(std::uint64_t size);

 private:
  int descriptor_;
  int error_ = 0;
};

}  // namespace headscope::hdf5
