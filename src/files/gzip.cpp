#include "files/gzip.hpp"

#include <zlib.h>

#include <memory>
#include <vector>

#include "files/read_file.hpp"

namespace headscope {

bool is_gzip(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return stream.get() == 0x1F && stream.get() == 0x8B;
}

void read_gzip(const std::string& path, const std::function<void(std::string_view)>& take) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> file(gzopen(path.c_str(), "rb"), gzclose_r);
  if (!file) throw cannot_open(path);
  std::vector<char> block(std::size_t{1} << 16);
  while (true) {
    const int count = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (count > 0) take({block.data(), static_cast<std::size_t>(count)});
    if (count == static_cast<int>(block.size())) continue;
    int error = Z_OK;
    gzerror(file.get(), &error);
    if (error == Z_OK || error == Z_STREAM_END) return;
    throw DataError(path, "", "cannot be decompressed: the file is damaged or cut short");
  }
}

}  // namespace headscope
