#include "corpus/tokenizer_json.hpp"
#include "fuzz.hpp"
#include "tokenizer_checks.hpp"

namespace headscope::fuzz {

// A tokenizer.json, and after a byte 0xFF a text to encode.
void test_input(Bytes bytes) {
  const std::string_view input = bytes.rest();
  const std::size_t end = input.find('\xff');
  const bool has_text = end != std::string_view::npos;
  read_or_refuse([&] {
    const Tokenizer tokenizer(parse_tokenizer_json(input.substr(0, end), "tokenizer.json"));
    check_round_trip(tokenizer, has_text ? input.substr(end + 1) : "abc abc");
  });
}

}  // namespace headscope::fuzz
