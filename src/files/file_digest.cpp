#include "files/file_digest.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "files/read_file.hpp"
#include "files/sha256.hpp"

namespace headscope {
namespace {

const std::string digest_mark = "\nheadscope sha256 ";
constexpr std::size_t digest_length = 64;

// Where HDF5's own data end, from the superblock. Nothing for the older superblocks, which
// Headscope does not write. Source: HDF5 File Format Specification, II.A, versions 2 and 3.
std::optional<std::uint64_t> end_of_hdf5(std::ifstream& stream) {
  constexpr std::size_t version_at = 8, offset_size_at = 9, end_at = 28;
  std::array<char, end_at + sizeof(std::uint64_t)> superblock{};
  if (!stream.read(superblock.data(), superblock.size())) return std::nullopt;
  const bool known = superblock[version_at] == 2 || superblock[version_at] == 3;
  if (!known || superblock[offset_size_at] != sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t end = 0;
  std::memcpy(&end, superblock.data() + end_at, sizeof end);
  return end;
}

}  // namespace

std::string digest_line(const std::string& path) {
  return digest_mark + file_sha256(path) + "\n";
}

void check_digest(const std::string& path) {
  std::string line(digest_mark.size() + digest_length + 1, '\0');
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size < line.size()) return;
  std::ifstream stream = open_to_read(path);
  // A damaged line must not pass as a file without one.
  const std::optional<std::uint64_t> hdf5_end = end_of_hdf5(stream);
  const std::uintmax_t end = size - line.size();
  stream.seekg(static_cast<std::streamoff>(end));
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  const bool has_line = line.starts_with(digest_mark) || (hdf5_end && *hdf5_end < size);
  if (!stream || !has_line) return;
  Sha256 hash;
  hash.add_file(path, end);
  if (line == digest_mark + hash.finish() + "\n") return;
  throw DataError(path, "", "is damaged: its bytes do not fit the SHA-256 in its last line");
}

}  // namespace headscope
