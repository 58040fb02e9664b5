#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "corpus/byte_alphabet.hpp"
#include "headscope/tokenizer.hpp"

namespace headscope::test {

/// A vocabulary of the 256 bytes, which has no first token.
inline std::string byte_vocabulary_json() {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocabulary.emplace(byte_alphabet::encode(static_cast<unsigned char>(byte)), byte);
  }
  return vocabulary.dump();
}

/// The files of a tokenizer of bytes that has each of these texts, and each of their beginnings, as
/// one token. Merges go from left to right, those of earlier texts first. The texts begin with a
/// space or are of two characters: otherwise a merge within a text could come first.
inline TokenizerFiles word_tokenizer_files(const std::vector<std::string>& texts) {
  nlohmann::json vocabulary = nlohmann::json::object();
  const auto add = [&](const std::string& entry) {
    return vocabulary.emplace(entry, vocabulary.size()).second;
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    add(byte_alphabet::encode(static_cast<unsigned char>(byte)));
  }
  std::string merges;
  for (const std::string& text : texts) {
    std::string left;
    for (const char byte : text) {
      const std::string right = byte_alphabet::encode(static_cast<unsigned char>(byte));
      if (!left.empty() && add(left + right)) merges += left + " " + right + "\n";
      left += right;
    }
  }
  add("<|endoftext|>");
  TokenizerFiles files;
  files.vocab_json = vocabulary.dump();
  files.merges = merges;
  files.vocab_source = "words:vocab";
  files.merges_source = "words:merges";
  return files;
}

}  // namespace headscope::test
