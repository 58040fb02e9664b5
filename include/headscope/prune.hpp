#pragma once

#include <span>

#include "headscope/model.hpp"

namespace headscope {

/// What happens to a pruned head's weights.
enum class PruneMode {
  zero,    ///< zeros in memory and in files
  remove,  ///< zeros in memory, left out of files written from the model
};

/// Prunes heads: sets their rows of W_Q, W_K, W_V and the biases, and their columns of W_O, to
/// zero. Keys and values that heads share stay while one of these heads does.
///
/// A pruned head writes nothing to the residual stream, so the loss equals that of masking it. Head
/// numbers do not change. Heads pruned before stay pruned.
/// @throws OptionError if a head is not of this model; gives the model's layers and heads.
/// Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
void prune_heads(Model& model, std::span<const HeadIndex> heads, PruneMode mode);

}  // namespace headscope
