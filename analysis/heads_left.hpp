#pragma once

#include <algorithm>
#include <vector>

#include "headscope/config.hpp"

namespace headscope {

/// The heads of a layer that the model has not lost, ascending.
inline std::vector<Index> heads_left_in(const ModelConfig& config, Index layer) {
  std::vector<Index> heads;
  for (Index head = 0; head < config.n_head; ++head) {
    const HeadIndex index{layer, head};
    if (!std::ranges::binary_search(config.pruned_heads, index)) heads.push_back(head);
  }
  return heads;
}

}  // namespace headscope
