#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Estimated bytes of the analysis `classification` beyond the forward pass.
std::uint64_t classification_memory(const RunShape& run);

}  // namespace headscope
