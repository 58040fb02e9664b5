#include "base/fields.hpp"
#include "fuzz.hpp"
#include "small_tokenizer.hpp"
#include "tokenizer_checks.hpp"

namespace headscope::fuzz {

// A tokenizer's vocabulary, its merges and a text to encode, separated by bytes 0xFF. The
// vocabulary is used unchanged, or its lines become entries of a vocabulary that has every byte.
void test_input(Bytes bytes) {
  const bool as_it_comes = bytes.below(2) == 0;
  const auto parts = fields::split(bytes.rest(), '\xff');
  std::string vocabulary(parts[0]);
  if (!as_it_comes) {
    const auto lines = fields::split(vocabulary, '\n');
    vocabulary = vocabulary_json(std::vector<std::string>(lines.begin(), lines.end()));
  }
  read_or_refuse([&] {
    const Tokenizer tokenizer(vocabulary, parts.size() > 1 ? parts[1] : "", "vocabulary");
    check_round_trip(tokenizer, parts.size() > 2 ? parts[2] : "abc abc");
  });
}

}  // namespace headscope::fuzz
