#include "tokenizer_checks.hpp"

#include "fuzz.hpp"

namespace headscope::fuzz {

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

}  // namespace headscope::fuzz
