#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/flat_map.hpp"
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
  struct Pair {
    TokenId left, right;
    bool operator==(const Pair&) const = default;
    std::uint64_t hash() const {
      return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
              static_cast<std::uint32_t>(right)) *
             0x9E3779B97F4A7C15U;
    }
  };
  const Merge* find(TokenId left, TokenId right) const;
  void merge_short(std::string_view part, TokenIds& ids, std::vector<std::uint32_t>& lengths) const;
  void merge_long(std::string_view part, TokenIds& ids, std::vector<std::uint32_t>& lengths) const;

  ByteTokens byte_tokens_;
  FlatMap<Pair, Merge> merges_{{-1, -1}};
};

}  // namespace headscope
