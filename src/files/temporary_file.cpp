#include "files/temporary_file.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <streambuf>

#include "files/read_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

/// Reads a file by its descriptor, from a position of its own.
class DescriptorBuffer : public std::streambuf {
 public:
  DescriptorBuffer(int descriptor, std::uint64_t offset)
      : descriptor_(descriptor), offset_(static_cast<off_t>(offset)) {}

 protected:
  int_type underflow() override {
    const ssize_t count = ::pread(descriptor_, block_.data(), block_.size(), offset_);
    if (count < 0) throw std::ios_base::failure("pread");  // the stream is then bad
    if (count == 0) return traits_type::eof();
    offset_ += count;
    setg(block_.data(), block_.data(), block_.data() + count);
    return traits_type::to_int_type(block_[0]);
  }

 private:
  int descriptor_;
  off_t offset_;
  std::array<char, std::size_t{1} << 16> block_;
};

class DescriptorStream : public std::istream {
 public:
  DescriptorStream(int descriptor, std::uint64_t offset)
      : std::istream(nullptr), buffer_(descriptor, offset) {
    rdbuf(&buffer_);
  }

 private:
  DescriptorBuffer buffer_;
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
  return std::make_unique<DescriptorStream>(descriptor_, offset);
}

}  // namespace headscope
