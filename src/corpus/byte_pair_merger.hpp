#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

/// Byte-pair merging of one part of a text: repeatedly merges the adjacent pair with the lowest
/// rank, leftmost first among equals.
class BytePairMerger {
 public:
  /// The token of each single byte.
  using ByteTokens = std::vector<TokenId>;

  explicit BytePairMerger(ByteTokens byte_tokens) : byte_tokens_(std::move(byte_tokens)) {}

  /// @param rank  order of the merge, lowest first; a repeated pair takes the new rank.
  void add(TokenId left, TokenId right, TokenId merged, std::int32_t rank);

  /// Appends the tokens of `part` to `ids`, and the length in bytes of each to `lengths`. Time
  /// grows as n log n with the length of the part.
  void merge(std::string_view part, TokenIds& ids, std::vector<std::uint32_t>& lengths) const;

 private:
  struct Merge {
    std::int32_t rank;
    TokenId merged;
  };
  const Merge* find(TokenId left, TokenId right) const;
  void merge_short(std::string_view part, TokenIds& ids, std::vector<std::uint32_t>& lengths) const;
  void merge_long(std::string_view part, TokenIds& ids, std::vector<std::uint32_t>& lengths) const;

  ByteTokens byte_tokens_;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace headscope
