#include "compute/product/arithmetic.hpp"

namespace headscope {

void Arithmetic::set_size(Index n_in, Index count, Operand& operand) const {
  operand.n_in = n_in;
  operand.count = count;
  grow(word_count(n_in, count), operand.words);
  grow(scale_count(n_in, count), operand.scales);
}

std::uint64_t Arithmetic::bytes(Index n_in, Index count) const {
  return word_count(n_in, count) * sizeof(std::uint16_t) + scale_count(n_in, count) * sizeof(float);
}

}  // namespace headscope
