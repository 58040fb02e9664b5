#include "corpus/tokenizer_json.hpp"
#include "fuzz.hpp"
#include "tokenizer_checks.hpp"

// A tokenizer.json, and after a byte 0xFF a text to encode.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = bytes.find('\xff');
  const bool has_text = end != std::string_view::npos;
  read_or_refuse([&] {
    const Tokenizer tokenizer(parse_tokenizer_json(bytes.substr(0, end), "tokenizer.json"));
    check_round_trip(tokenizer, has_text ? bytes.substr(end + 1) : "abc abc");
  });
  return 0;
}
