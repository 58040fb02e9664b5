#include "files/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <boost/algorithm/hex.hpp>
#include <iterator>

#include "files/read_file.hpp"

namespace headscope {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
    throw Error("SHA-256 is not available in this build of OpenSSL");
  }
}

void Sha256::add(std::span<const char> bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

void Sha256::add_file(const std::string& path, std::uintmax_t n_byte) {
  read_blocks(
      path, [this](std::string_view block) { add(block); }, n_byte);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  std::string text;
  boost::algorithm::hex_lower(digest.begin(), digest.begin() + size, std::back_inserter(text));
  return text;
}

std::string file_sha256(const std::string& path) {
  Sha256 hash;
  hash.add_file(path);
  return hash.finish();
}

}  // namespace headscope
