#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "headscope/error.hpp"

namespace headscope {

/// Owns a file descriptor; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  operator int() const { return number_; }
  /// Gives the descriptor up without closing it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Reads up to the end of the file. @return the number of bytes read; -1 if the file cannot be
/// read.
ssize_t read_at(int descriptor, char* bytes, std::size_t size, std::uint64_t begin);

/// Writes all bytes, from byte `begin` of the file on. @return false, with errno, if that fails.
bool write_at(int descriptor, std::string_view bytes, std::uint64_t begin);

/// Appends bytes to the file `path`, open as `descriptor`. @throws DataError if that fails.
void append(int descriptor, std::string_view bytes, const std::string& path);

/// `path: cannot be written: No space left on device`, by default with the reason that errno gives.
DataError cannot_write(const std::string& path, const std::string& reason = std::strerror(errno));

}  // namespace headscope
