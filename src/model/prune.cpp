#include "headscope/prune.hpp"

#include <algorithm>

#include "headscope/error.hpp"

namespace headscope {

void prune_heads(Model& model, std::span<const HeadIndex> heads, PruneMode mode) {
  const ModelConfig& config = model.config;
  const Index d_head = config.d_head();
  for (const HeadIndex head : heads) {
    if (head.layer < config.n_layer && head.head < config.n_head) continue;
    throw OptionError("head", "expected a head of a model with " + std::to_string(config.n_layer) +
                                  " layers of " + std::to_string(config.n_head) + " heads, got " +
                                  head.text());
  }
  for (const HeadIndex head : heads) {
    LayerWeights& layer = model.layers[head.layer];
    for (Index part = 0; part < 3; ++part) {
      const Index first = part * config.d_model + head.head * d_head;
      layer.W_QKV.rows(first, first + d_head - 1).zeros();
      layer.b_QKV.subvec(first, first + d_head - 1).zeros();
    }
    layer.W_O.cols(head.head * d_head, (head.head + 1) * d_head - 1).zeros();
  }
  if (mode == PruneMode::zero) return;
  std::vector<HeadIndex>& pruned = model.config.pruned_heads;
  pruned.insert(pruned.end(), heads.begin(), heads.end());
  std::sort(pruned.begin(), pruned.end());
  pruned.erase(std::unique(pruned.begin(), pruned.end()), pruned.end());
}

}  // namespace headscope
