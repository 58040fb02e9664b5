#include "support/token_corpus.hpp"

#include "files/hdf5_file.hpp"

namespace headscope::test {

TokenIds golden_tokens(const std::string& golden_file, std::size_t document) {
  const hdf5::InputFile golden(golden_file);
  TokenIds tokens;
  for (const std::int64_t id :
       golden.read_integers("documents/" + std::to_string(document) + "/tokens")) {
    tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

void write_token_corpus(const std::string& path, const std::vector<TokenIds>& documents) {
  std::vector<std::int64_t> tokens, offsets{0};
  for (const TokenIds& document : documents) {
    tokens.insert(tokens.end(), document.begin(), document.end());
    offsets.push_back(static_cast<std::int64_t>(tokens.size()));
  }
  hdf5::OutputFile file(path);
  file.write("tokens", {tokens.size()}, std::span<const std::int64_t>(tokens));
  file.write("offsets", {offsets.size()}, std::span<const std::int64_t>(offsets));
  file.publish();
}

}  // namespace headscope::test
