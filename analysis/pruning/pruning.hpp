#pragma once

#include "analysis.hpp"

namespace headscope {

/// Group `pruning`: what the model loses when a head is taken out, how importance predicts it, and
/// how many can go.
RegisteredAnalysis pruning_analysis();

}  // namespace headscope
