#include "file_seal.hpp"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "headscope/error.hpp"
#include "sha256.hpp"

namespace headscope {
namespace {

constexpr std::string_view begin = "\nheadscope sha256 ";
constexpr std::size_t seal_size = begin.size() + 64 + 1;

std::string seal_of(const std::string& path, std::uintmax_t n_byte) {
  Sha256 hash;
  hash.add_file(path, n_byte);
  return std::string(begin) + hash.finish() + "\n";
}

}  // namespace

void append_seal(const std::string& path) {
  const std::string seal = seal_of(path, std::filesystem::file_size(path));
  std::ofstream stream(path, std::ios::binary | std::ios::app);
  stream << seal;
  stream.close();
  if (!stream) throw DataError(path, "", "cannot be written");
}

void check_seal(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size < seal_size) return;
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(size - seal_size));
  std::string found(seal_size, '\0');
  stream.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (!stream || !found.starts_with(begin)) return;
  if (found != seal_of(path, size - seal_size)) {
    throw DataError(path, "", "cannot be read: the file is damaged, it does not agree with its "
                              "checksum");
  }
}

}  // namespace headscope
