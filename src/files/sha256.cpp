#include "files/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "files/read_file.hpp"

namespace headscope {

struct Sha256::Data {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
};

Sha256::Sha256() : data_(std::make_unique<Data>()) {
  if (EVP_DigestInit_ex(data_->context.get(), EVP_sha256(), nullptr) != 1) {
    throw Error("SHA-256 is not available in this build of OpenSSL");
  }
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const char> bytes) {
  EVP_DigestUpdate(data_->context.get(), bytes.data(), bytes.size());
}

void Sha256::add_file(const std::string& path, std::uintmax_t n_byte) {
  read_blocks(
      path, [this](std::string_view block) { add(block); }, n_byte);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(data_->context.get(), digest.data(), &size);
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

std::string file_sha256(const std::string& path) {
  Sha256 hash;
  hash.add_file(path);
  return hash.finish();
}

}  // namespace headscope
