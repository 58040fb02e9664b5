#pragma once

#include <vector>

#include "headscope/ablation.hpp"
#include "headscope/array.hpp"

namespace headscope {

/// Indices of heads (layer * n_head + head) by ascending score; ties by index, NaN last.
/// @param scores  layer x head.
std::vector<Index> ascending_heads(const Array& scores);

/// The mask that removes the first `count` heads of an order.
/// @return n_head x n_layer.
HeadMask mask_without(const std::vector<Index>& order, Index count, Index n_layer, Index n_head);

/// Each layer's vector divided by its L2 norm; zero stays zero.
/// Source: Molchanov et al. 2017, as used by Michel et al. 2019.
Array normalized_by_layer(const Array& scores);

}  // namespace headscope
