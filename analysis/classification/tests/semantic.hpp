#pragma once

#include <vector>

#include "scores/sums.hpp"

namespace headscope {

/// Correlation with token similarity, against permuted tokens.
struct SemanticTest {
  std::vector<double> null_mean, null_std, z;  ///< by head
};
SemanticTest test_semantic(const WeightedSums& sums);

}  // namespace headscope
