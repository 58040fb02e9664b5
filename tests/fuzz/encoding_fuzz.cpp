#include "corpus/byte_pair_merger.hpp"
#include "fuzz.hpp"
#include "small_tokenizer.hpp"

namespace headscope::fuzz {
namespace {

constexpr std::size_t n_letter = 4, n_token = 24;

/// Byte-pair merging by its definition, to check the faster merger.
TokenIds merge_plainly(TokenIds ids, const std::vector<std::array<TokenId, 3>>& merges) {
  for (bool merged = true; merged;) {
    merged = false;
    for (const auto& [left, right, result] : merges) {
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] != left || ids[i + 1] != right) continue;
        ids[i] = result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
        break;
      }
      if (merged) break;
    }
  }
  return ids;
}

// Compares the merger with the definition on drawn letters and merges, one new token per pair.
void check_merger(Bytes& bytes) {
  BytePairMerger merger(BytePairMerger::ByteTokens(256, 0));
  BytePairMerger::ByteTokens letters(256);
  for (std::size_t byte = 0; byte < 256; ++byte)
    letters[byte] = static_cast<TokenId>(byte % n_letter);
  merger = BytePairMerger(letters);
  std::vector<std::array<TokenId, 3>> merges;
  for (TokenId token = n_letter; token < static_cast<TokenId>(n_token); ++token) {
    const auto left = static_cast<TokenId>(bytes.below(static_cast<std::size_t>(token)));
    const auto right = static_cast<TokenId>(bytes.below(static_cast<std::size_t>(token)));
    const bool again = std::any_of(merges.begin(), merges.end(), [&](const auto& merge) {
      return merge[0] == left && merge[1] == right;
    });
    if (again) continue;
    merger.add(left, right, token, static_cast<std::int32_t>(merges.size()));
    merges.push_back({left, right, token});
  }
  const std::string_view part = bytes.rest().substr(0, 200);
  TokenIds ids, plain;
  std::vector<std::uint32_t> lengths;
  merger.merge(part, ids, lengths);
  for (const char c : part) plain.push_back(letters[static_cast<unsigned char>(c)]);
  require(ids == merge_plainly(plain, merges), "merging follows the definition");
}

}  // namespace

// The bytes serve as a text, and as the letters and merges of a small byte-pair encoding.
void test_input(Bytes bytes) {
  const std::string_view text = bytes.rest();
  const Tokenizer& tokenizer = small_tokenizer();
  const Tokenizer::Encoding encoding = tokenizer.encode(text);
  require(tokenizer.decode(encoding.ids) == text, "decoding gives the text again");
  std::size_t end = 0;
  for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
    const auto [begin, next] = encoding.spans[t];
    require(begin == end && text.substr(begin, next - begin) == tokenizer.decode(encoding.ids[t]),
            "a token's span holds its bytes");
    end = next;
  }
  require(end == text.size(), "spans cover the text");
  check_merger(bytes);
}

}  // namespace headscope::fuzz
