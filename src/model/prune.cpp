#include "headscope/prune.hpp"

#include <algorithm>

#include "base/number_text.hpp"
#include "headscope/error.hpp"

namespace headscope {

void prune_heads(Model& model, std::span<const HeadIndex> heads, PruneMode mode) {
  const ModelConfig& config = model.config;
  const Index d_head = config.d_head();
  for (const HeadIndex head : heads) {
    if (head.layer < config.n_layer && head.head < config.n_head) continue;
    throw OptionError("--heads", "expected a head of a model with " +
                                     count_text(config.n_layer, "layer") + " of " +
                                     count_text(config.n_head, "head") + ", got " + head.text());
  }
  std::vector<HeadIndex> pruned = config.pruned_heads;
  pruned.insert(pruned.end(), heads.begin(), heads.end());
  std::ranges::sort(pruned);
  pruned.erase(std::ranges::unique(pruned).begin(), pruned.end());
  const auto group_lives = [&](HeadIndex head) {
    const Index n_sharing = config.n_head / config.n_group();
    const Index first = config.group(head.head) * n_sharing;
    for (Index other = first; other < first + n_sharing; ++other) {
      if (!std::ranges::binary_search(pruned, HeadIndex{head.layer, other})) return true;
    }
    return false;
  };
  for (const HeadIndex head : heads) {
    LayerWeights& layer = model.layers[head.layer];
    const auto clear = [&](Index first) {
      layer.W_QKV.rows(first, first + d_head - 1).zeros();
      if (!layer.b_QKV.empty()) layer.b_QKV.subvec(first, first + d_head - 1).zeros();
    };
    clear(config.q_row(head.head));
    if (!group_lives(head)) {
      clear(config.k_row(head.head));
      clear(config.v_row(head.head));
    }
    layer.W_O.cols(head.head * d_head, (head.head + 1) * d_head - 1).zeros();
  }
  if (mode == PruneMode::remove) model.config.pruned_heads = pruned;
}

}  // namespace headscope
