#include "files/descriptor.hpp"

#include <unistd.h>

namespace headscope {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

ssize_t read_at(int descriptor, char* bytes, std::size_t size, std::uint64_t begin) {
  std::size_t n_read = 0;
  while (n_read < size) {
    const ssize_t count =
        ::pread(descriptor, bytes + n_read, size - n_read, static_cast<off_t>(begin + n_read));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    n_read += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(n_read);
}

bool write_at(int descriptor, std::string_view bytes, std::uint64_t begin) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    begin += static_cast<std::uint64_t>(count);
  }
  return true;
}

void append(int descriptor, std::string_view bytes, const std::string& path) {
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  if (end < 0 || !write_at(descriptor, bytes, static_cast<std::uint64_t>(end))) {
    throw cannot_write(path);
  }
}

DataError cannot_write(const std::string& path, const std::string& reason) {
  return DataError(path, "", "cannot be written: " + reason);
}

}  // namespace headscope
