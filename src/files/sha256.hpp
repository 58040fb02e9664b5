#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;  // of OpenSSL, whose header is not included here

namespace headscope {

/// SHA-256 of bytes given piece by piece. Source: FIPS 180-4.
class Sha256 {
 public:
  Sha256();

  void add(std::span<const char> bytes);
  /// Adds a file, or its first `n_byte` bytes. @throws DataError if it cannot be read.
  void add_file(const std::string& path,
                std::uintmax_t n_byte = std::numeric_limits<std::uintmax_t>::max());
  /// The digest, 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

/// SHA-256 of a file's bytes. @throws DataError if it cannot be read.
std::string file_sha256(const std::string& path);

}  // namespace headscope
