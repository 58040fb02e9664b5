#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"

namespace headscope {

/// A file in the folder for temporary files, removed at destruction.
class TemporaryFile {
 public:
  /// @throws DataError naming the folder if no file can be made in it.
  TemporaryFile();
  ~TemporaryFile();

  const std::string& path() const { return path_; }
  /// Removes the name; what the file holds stays readable through this object.
  void unlink();

  /// @throws DataError if the bytes cannot be written.
  void append(std::string_view bytes);
  /// The bytes from `offset` on. Several streams may be read at once; the file must outlive them.
  std::unique_ptr<std::istream> open(std::uint64_t offset = 0) const;
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  Descriptor descriptor_;
  bool has_name_ = true;
};

}  // namespace headscope
