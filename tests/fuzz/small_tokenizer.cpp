#include "small_tokenizer.hpp"

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "corpus/byte_alphabet.hpp"

namespace headscope::fuzz {

std::string vocabulary_json(const std::vector<std::string>& entries) {
  nlohmann::json vocabulary = nlohmann::json::object();
  const auto add = [&](const std::string& entry) {
    if (!vocabulary.contains(entry)) vocabulary[entry] = vocabulary.size();
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    add(byte_alphabet::encode(static_cast<unsigned char>(byte)));
  }
  add("<|endoftext|>");
  for (const std::string& entry : entries) add(entry);
  return json_text(vocabulary);
}

}  // namespace headscope::fuzz
