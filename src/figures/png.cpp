#include "figures/png.hpp"

#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <string_view>

namespace headscope {
namespace {

constexpr std::string_view signature{"\x89PNG\r\n\x1a\n", 8};
constexpr std::size_t header_end = 33;  // the signature and the chunk IHDR
constexpr double inches_per_metre = 1 / 0.0254;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

}  // namespace

std::string with_resolution(const std::string& png, double dots_per_inch) {
  if (!png.starts_with(signature) || png.size() < header_end) return png;
  const auto per_metre = static_cast<std::uint32_t>(std::lround(dots_per_inch * inches_per_metre));
  const std::string chunk = "pHYs" + big_endian(per_metre) + big_endian(per_metre) + '\x01';
  const auto* const bytes = reinterpret_cast<const unsigned char*>(chunk.data());
  const auto check =
      static_cast<std::uint32_t>(crc32(0, bytes, static_cast<unsigned>(chunk.size())));
  return png.substr(0, header_end) + big_endian(static_cast<std::uint32_t>(chunk.size() - 4)) +
         chunk + big_endian(check) + png.substr(header_end);
}

}  // namespace headscope
