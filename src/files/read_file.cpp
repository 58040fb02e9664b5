#include "files/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace headscope {

DataError cannot_open(const std::string& path) {
  return DataError(path, "", std::string("cannot be opened: ") + std::strerror(errno));
}

std::ifstream open_to_read(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    throw DataError(path, "", "expected a file, got a folder");
  }
  // Opening a pipe would wait for its writer, and inputs are read more than once.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw DataError(path, "", "expected a file, got a pipe or device");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw cannot_open(path);
  return stream;
}

void read_blocks(const std::string& path, const std::function<void(std::string_view)>& take,
                 std::uintmax_t n_byte) {
  std::ifstream stream = open_to_read(path);
  std::vector<char> block(std::size_t{1} << 16);
  while (stream && n_byte > 0) {
    stream.read(block.data(),
                static_cast<std::streamsize>(std::min<std::uintmax_t>(block.size(), n_byte)));
    const auto count = static_cast<std::size_t>(stream.gcount());
    take({block.data(), count});
    n_byte -= count;
  }
  if (stream.bad()) throw DataError(path, "", "cannot be read");
}

std::string read_file(const std::string& path) {
  std::string bytes;
  read_blocks(path, [&](std::string_view block) { bytes += block; });
  return bytes;
}

}  // namespace headscope
