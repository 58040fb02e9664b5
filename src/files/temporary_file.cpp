#include "files/temporary_file.hpp"

#include <unistd.h>

#include <boost/iostreams/concepts.hpp>
#include <boost/iostreams/stream.hpp>
#include <cstdlib>
#include <filesystem>

#include "files/read_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

/// Reads a file by its descriptor, from a position of its own.
struct DescriptorSource : boost::iostreams::source {
  int descriptor;
  off_t offset;

  std::streamsize read(char* bytes, std::streamsize size) {
    const ssize_t count = ::pread(descriptor, bytes, static_cast<std::size_t>(size), offset);
    if (count < 0) throw std::ios_base::failure("pread");  // the stream is then bad
    offset += count;
    return count > 0 ? count : -1;
  }
};

/// std::filesystem::temp_directory_path, but an empty variable is as one that is not set.
std::filesystem::path temporary_folder() {
  std::string folder = "/tmp";
  for (const char* const name : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"}) {
    const char* const set = std::getenv(name);
    if (set != nullptr && *set != '\0') folder = set;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return folder;
  throw DataError(folder, "", "expected a folder for temporary files (TMPDIR), got none");
}

}  // namespace

TemporaryFile::TemporaryFile()
    : path_((temporary_folder() / "headscope-XXXXXX").string()),
      descriptor_(::mkstemp(path_.data())) {
  if (descriptor_ < 0) throw cannot_open(path_);
}

TemporaryFile::~TemporaryFile() {
  unlink();
}

void TemporaryFile::unlink() {
  if (has_name_) ::unlink(path_.c_str());
  has_name_ = false;
}

void TemporaryFile::append(std::string_view bytes) {
  headscope::append(descriptor_, bytes, path_);
}

std::unique_ptr<std::istream> TemporaryFile::open(std::uint64_t offset) const {
  constexpr std::streamsize block_bytes = std::streamsize{1} << 16;
  return std::make_unique<boost::iostreams::stream<DescriptorSource>>(
      DescriptorSource{{}, descriptor_, static_cast<off_t>(offset)}, block_bytes);
}

}  // namespace headscope
