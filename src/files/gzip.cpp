#include "files/gzip.hpp"

#include <zlib.h>

#include <vector>

#include "base/number_text.hpp"
#include "files/read_file.hpp"

namespace headscope {
namespace {

/// Refuses data that grow as no text does, which fill a disk from a small file.
/// @param n_byte    decompressed so far.
/// @param n_stored  bytes that they were decompressed from.
void check_growth(const std::string& path, std::uint64_t n_byte, std::uint64_t n_stored) {
  constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20, most_growth = 200;
  if (n_byte <= least_bytes || n_byte <= most_growth * n_stored) return;
  throw DataError(path, "",
                  "expected data that grow at most " + std::to_string(most_growth) +
                      "-fold when decompressed, got " + memory_text(n_byte) + " and more from " +
                      grouped(n_stored) + " bytes; decompress the file first");
}

/// Decompresses the members of a gzip file, one after the other. Zeros may follow a member.
class GzipMembers {
 public:
  /// @param path, take  must outlive this.
  GzipMembers(const std::string& path, const std::function<void(std::string_view)>& take)
      : path_(path), take_(take), block_(std::size_t{1} << 16) {
    constexpr int gzip_alone = MAX_WBITS + 16;
    if (inflateInit2(&stream_, gzip_alone) != Z_OK) refuse();
  }
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;
  ~GzipMembers() { inflateEnd(&stream_); }

  /// Takes the next bytes of the file.
  void add(std::string_view stored) {
    n_stored_ += stored.size();
    // zlib does not write to its input.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));
    stream_.avail_in = static_cast<uInt>(stored.size());
    while (stream_.avail_in > 0) {
      if (is_in_member_ || *stream_.next_in != 0) {
        inflate_member();
      } else {
        ++stream_.next_in;
        --stream_.avail_in;
      }
    }
  }

  /// @throws DataError if the file ends within a member.
  void end() const {
    if (is_in_member_) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw DataError(path_, "", "cannot be decompressed: the file is damaged or cut short");
  }

  /// Decompresses up to the end of the member or of the bytes.
  void inflate_member() {
    is_in_member_ = true;
    do {
      stream_.next_out = block_.data();
      stream_.avail_out = static_cast<uInt>(block_.size());
      const int state = inflate(&stream_, Z_NO_FLUSH);
      // Z_BUF_ERROR: there are no more bytes.
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) refuse();
      give(block_.size() - stream_.avail_out);
      if (state == Z_STREAM_END) {
        is_in_member_ = false;
        inflateReset(&stream_);
        return;
      }
    } while (stream_.avail_out == 0);
  }

  void give(std::size_t n_byte) {
    if (n_byte == 0) return;
    n_byte_ += n_byte;
    check_growth(path_, n_byte_, n_stored_ - stream_.avail_in);
    take_({reinterpret_cast<const char*>(block_.data()), n_byte});
  }

  const std::string& path_;
  const std::function<void(std::string_view)>& take_;
  z_stream stream_{};
  std::vector<Bytef> block_;
  std::uint64_t n_byte_ = 0, n_stored_ = 0;
  bool is_in_member_ = false;
};

}  // namespace

bool is_gzip(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return stream.get() == 0x1F && stream.get() == 0x8B;
}

void read_gzip(const std::string& path, const std::function<void(std::string_view)>& take) {
  GzipMembers members(path, take);
  read_blocks(path, [&](std::string_view stored) { members.add(stored); });
  members.end();
}

}  // namespace headscope
