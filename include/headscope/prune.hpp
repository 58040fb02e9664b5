#pragma once

#include <span>

#include "headscope/model.hpp"

namespace headscope {

/// What becomes of a pruned head's weights.
enum class PruneMode {
  zero,    ///< they stay, as zeros
  remove,  ///< they are zeros in memory, and files written from the model leave them out
};

/// Takes heads out of a model: their rows of W_Q, W_K, W_V and the biases, and their columns of
/// W_O.
///
/// With W_V, b_V and W_O at zero a head writes nothing, so the loss is that of masking it. Heads
/// keep their numbers. Heads pruned before stay pruned.
/// @throws OptionError if a head is not of this model; gives the model's layers and heads.
/// Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
void prune_heads(Model& model, std::span<const HeadIndex> heads, PruneMode mode);

}  // namespace headscope
