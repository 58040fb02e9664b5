#include "files/gzip.hpp"

#include <zlib.h>

#include <memory>
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

}  // namespace

bool is_gzip(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return stream.get() == 0x1F && stream.get() == 0x8B;
}

void read_gzip(const std::string& path, const std::function<void(std::string_view)>& take) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> file(gzopen(path.c_str(), "rb"), gzclose_r);
  if (!file) throw cannot_open(path);
  std::vector<char> block(std::size_t{1} << 16);
  std::uint64_t n_byte = 0;
  while (true) {
    const int count = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (count > 0) {
      n_byte += static_cast<std::uint64_t>(count);
      check_growth(path, n_byte, static_cast<std::uint64_t>(gzoffset(file.get())));
      take({block.data(), static_cast<std::size_t>(count)});
    }
    if (count == static_cast<int>(block.size())) continue;
    int error = Z_OK;
    gzerror(file.get(), &error);
    if (error == Z_OK || error == Z_STREAM_END) return;
    throw DataError(path, "", "cannot be decompressed: the file is damaged or cut short");
  }
}

}  // namespace headscope
