#include "headscope/resampling.hpp"

#include "headscope/random.hpp"

namespace headscope {

std::size_t document_block(std::uint64_t document, std::uint64_t n_document) {
  if (n_document <= n_document_block) return document % n_document_block;
  constexpr std::uint64_t seed = 0x626c6f636b73;
  return 2 * CounterRandom(seed).below(n_document_block / 2, document) + document % 2;
}

}  // namespace headscope
