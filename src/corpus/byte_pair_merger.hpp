#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

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
  const Merge* find(TokenId left, TokenId right) const;
  std::size_t merge_short(std::span<TokenId> token, std::span<std::uint32_t> length) const;
  std::size_t merge_long(std::span<TokenId> token, std::span<std::uint32_t> length) const;

  std::unordered_map<std::uint64_t, Merge> merges_;  // by pair_key
};

}  // namespace headscope
