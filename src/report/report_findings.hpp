#pragma once

#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The summary: the model, the analyses' findings by rank, and the claims' verdicts.
std::vector<Finding> findings(const Results& results);

}  // namespace headscope
