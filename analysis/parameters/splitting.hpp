#pragma once

#include <cstdint>

#include "headscope/model.hpp"

namespace headscope {

/// Difference between one large projection split over heads and a separate projection per head.
struct SplittingDifference {
  double relative = 0;  ///< largest |difference| / largest |output| of a layer, over all layers
  Index layer = 0;      ///< where it is largest
  Index n_token = 0;    ///< random inputs per layer
};

/// Runs causal attention of every layer both ways on random inputs: normal(0, 1) features with the
/// layer's ln_1 gain and bias applied, like the output of its LayerNorm.
SplittingDifference splitting_difference(const Model& model, std::uint64_t seed);

}  // namespace headscope
