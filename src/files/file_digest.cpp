#include "files/file_digest.hpp"

#include <filesystem>

#include "files/read_file.hpp"
#include "files/sha256.hpp"

namespace headscope {
namespace {

const std::string digest_mark = "\nheadscope sha256 ";
constexpr std::size_t digest_length = 64;

}  // namespace

std::string digest_line(const std::string& path) {
  return digest_mark + file_sha256(path) + "\n";
}

void check_digest(const std::string& path) {
  std::string line(digest_mark.size() + digest_length + 1, '\0');
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size < line.size()) return;
  const std::uintmax_t end = size - line.size();
  std::ifstream stream = open_to_read(path);
  stream.seekg(static_cast<std::streamoff>(end));
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  // A damaged digest line must not pass as a file without one.
  const bool has_digest =
      line.find_first_not_of("0123456789abcdef", digest_mark.size()) == line.size() - 1 &&
      line.back() == '\n';
  if (!stream || (!line.starts_with(digest_mark) && !has_digest)) return;
  Sha256 hash;
  hash.add_file(path, end);
  if (line == digest_mark + hash.finish() + "\n") return;
  throw DataError(path, "", "is damaged: its bytes do not fit the SHA-256 in its last line");
}

}  // namespace headscope
