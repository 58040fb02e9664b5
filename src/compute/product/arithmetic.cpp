#include "compute/product/arithmetic.hpp"

namespace headscope {
namespace {

template <typename T>
void reserve(std::size_t size, CacheLines<T>& memory) {
  if (memory.size() >= size) return;
  memory = {};  // not copied, and given back before more is taken
  memory = CacheLines<T>(size);
}

}  // namespace

void Arithmetic::set_size(Index n_in, Index count, Operand& operand) const {
  operand.n_in = n_in;
  operand.count = count;
  reserve(word_count(n_in, count), operand.words);
  reserve(scale_count(n_in, count), operand.scales);
}

std::uint64_t Arithmetic::bytes(Index n_in, Index count) const {
  return word_count(n_in, count) * sizeof(std::uint16_t) + scale_count(n_in, count) * sizeof(float);
}

}  // namespace headscope
