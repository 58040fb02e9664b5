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

namespace {

/// Leaves the stream at its beginning.
bool is_git_lfs_pointer(const std::string& path, std::ifstream& stream) {
  constexpr std::string_view first_line = "version https://git-lfs.github.com/spec/";
  constexpr std::uintmax_t greatest_pointer = 1024;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) >= greatest_pointer) {
    return false;
  }
  std::string begin(first_line.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  stream.clear();
  stream.seekg(0);
  return begin == first_line;
}

}  // namespace

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
  if (is_git_lfs_pointer(path, stream)) {
    throw DataError(path, "",
                    "expected the file itself, got a Git LFS pointer to it; `git lfs pull` "
                    "downloads the file");
  }
  return stream;
}

void check_was_read(const std::istream& stream, const std::string& path) {
  if (stream.bad()) throw DataError(path, "", "cannot be read");
}

void read_blocks(const std::string& path, const std::function<void(std::string_view)>& take,
                 std::uintmax_t n_byte) {
  std::ifstream stream = open_to_read(path);
  read_blocks(stream, path, take, n_byte);
}

void read_blocks(std::istream& stream, const std::string& path,
                 const std::function<void(std::string_view)>& take, std::uintmax_t n_byte) {
  std::vector<char> block(std::size_t{1} << 16);
  while (stream && n_byte > 0) {
    stream.read(block.data(),
                static_cast<std::streamsize>(std::min<std::uintmax_t>(block.size(), n_byte)));
    const auto count = static_cast<std::size_t>(stream.gcount());
    take({block.data(), count});
    n_byte -= count;
  }
  check_was_read(stream, path);
}

std::string read_file(const std::string& path) {
  std::string bytes;
  read_blocks(path, [&](std::string_view block) { bytes += block; });
  return bytes;
}

}  // namespace headscope
