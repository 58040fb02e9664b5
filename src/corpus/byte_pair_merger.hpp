#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/flat_map.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Byte-pair merging of one part of a text: repeatedly merges the adjacent pair with the lowest
/// rank, leftmost first among equals.
class BytePairMerger {
 public:
  /// @param rank  order of the merge, lowest first; a repeated pair takes the new rank.
  void add(TokenId left, TokenId right, TokenId merged, std::int32_t rank);

  /// Merges tokens in place. Time grows as n log n with their number.
  /// @param lengths  of each token in bytes.
  void merge(TokenIds& ids, std::vector<std::uint32_t>& lengths) const;

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
  std::size_t merge_short(std::span<TokenId> token, std::span<std::uint32_t> length) const;
  std::size_t merge_long(std::span<TokenId> token, std::span<std::uint32_t> length) const;

  FlatMap<Pair, Merge> merges_{{-1, -1}};
};

}  // namespace headscope
