#include "corpus/byte_pair_merger.hpp"

#include <array>
#include <limits>
#include <queue>

namespace headscope {
namespace {

constexpr std::size_t short_part = 48;
constexpr std::int32_t no_rank = std::numeric_limits<std::int32_t>::max();

std::uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

void BytePairMerger::add(TokenId left, TokenId right, TokenId merged, std::int32_t rank) {
  merges_.insert_or_assign(pair_key(left, right), Merge{rank, merged});
}

const BytePairMerger::Merge* BytePairMerger::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found != merges_.end() ? &found->second : nullptr;
}

void BytePairMerger::merge(TokenIds& ids, std::vector<std::uint32_t>& lengths) const {
  const std::size_t n =
      ids.size() <= short_part ? merge_short(ids, lengths) : merge_long(ids, lengths);
  ids.resize(n);
  lengths.resize(n);
}

// Words are short: scanning all ranks after each merge is cheaper than keeping a queue.
// @return  the number of tokens that are left, at the beginning.
std::size_t BytePairMerger::merge_short(std::span<TokenId> token,
                                        std::span<std::uint32_t> length) const {
  std::array<Merge, short_part> merge_after;
  std::size_t n = token.size();
  const auto look_up = [&](std::size_t i) {
    const Merge* const found = i + 1 < n ? find(token[i], token[i + 1]) : nullptr;
    merge_after[i] = found != nullptr ? *found : Merge{no_rank, 0};
  };
  for (std::size_t i = 0; i < n; ++i) look_up(i);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (merge_after[i].rank < merge_after[best].rank) best = i;
    }
    if (merge_after[best].rank == no_rank) break;
    token[best] = merge_after[best].merged;
    length[best] += length[best + 1];
    for (std::size_t i = best + 1; i + 1 < n; ++i) {
      token[i] = token[i + 1];
      length[i] = length[i + 1];
      merge_after[i] = merge_after[i + 1];
    }
    --n;
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  return n;
}

// @return  the number of tokens that are left, at the beginning.
std::size_t BytePairMerger::merge_long(std::span<TokenId> token,
                                       std::span<std::uint32_t> length) const {
  struct Symbol {
    TokenId token;
    std::uint32_t length;  // 0 once merged into the symbol before it
    std::size_t previous, next;
  };
  struct Candidate {
    std::int32_t rank;
    std::size_t position;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  const std::size_t n = token.size();
  std::vector<Symbol> symbols(n);
  for (std::size_t i = 0; i < n; ++i) symbols[i] = {token[i], length[i], i - 1, i + 1};
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto merge_at = [&](std::size_t i) -> const Merge* {
    return symbols[i].next < n ? find(symbols[i].token, symbols[symbols[i].next].token) : nullptr;
  };
  const auto offer = [&](std::size_t i) {
    if (const Merge* const merge = merge_at(i)) queue.push({merge->rank, i});
  };
  for (std::size_t i = 0; i < n; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate candidate = queue.top();
    queue.pop();
    Symbol& left = symbols[candidate.position];
    if (left.length == 0) continue;
    const Merge* const merge = merge_at(candidate.position);
    // A candidate whose neighbours have changed since is stale; the new pair has its own candidate.
    if (merge == nullptr || merge->rank != candidate.rank) continue;
    Symbol& right = symbols[left.next];
    left.token = merge->merged;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next < n) symbols[left.next].previous = candidate.position;
    offer(candidate.position);
    if (candidate.position > 0) offer(left.previous);
  }
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < n; i = symbols[i].next) {
    token[n_left] = symbols[i].token;
    length[n_left++] = symbols[i].length;
  }
  return n_left;
}

}  // namespace headscope
