#include "base/fields.hpp"
#include "fuzz.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {
namespace {

void check_round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const Tokenizer::Encoding encoding = tokenizer.encode(text);
  require(tokenizer.decode(encoding.ids) == text, "decoding gives the text again");
  require(encoding.spans.size() == encoding.ids.size(), "every token has a span");
  std::size_t end = 0;
  for (const auto& [begin, next] : encoding.spans) {
    require(begin == end && next > begin, "spans follow each other");
    end = next;
  }
  require(end == text.size(), "spans cover the text");
}

}  // namespace
}  // namespace headscope::fuzz

// A tokenizer's vocabulary, its merges and a text to encode, separated by bytes 0xFF. The
// vocabulary is used unchanged, or its lines become entries of a vocabulary that has every byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headscope;
  using namespace headscope::fuzz;
  Bytes bytes(data, size);
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
  return 0;
}
