#pragma once

#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The summary: the model, what the analyses found, by rank, and what became of the claims.
std::vector<Finding> findings(const Results& results);

}  // namespace headscope
