#pragma once

#include <string>

#include "headscope/array.hpp"

namespace headscope {

/// Above so many heads a matrix of all pairs has cells too small to be seen on a printed page.
inline constexpr std::size_t most_heads_by_pair = 64;

/// A matrix of all pairs of heads as one of pairs of layers.
struct LayerPairs {
  Array largest;      ///< layer x layer: of the pairs of heads, the value of the largest size; NaN
                      ///< where no pair has one
  Array marked;       ///< layer x layer: 1 where a named pair is
  std::string named;  ///< `L3H0 to L5H1 0.31, L2H2 to L4H7 0.28`
};

/// @param of_heads   head_index x head_index; NaN: no value.
/// @param symmetric  each pair is named once.
/// @param n_named    pairs with the largest values by size.
LayerPairs layer_pairs(const Array& of_heads, std::size_t n_head, bool symmetric,
                       std::size_t n_named);

}  // namespace headscope
