#pragma once

#include "headscope/analysis.hpp"

namespace headscope {

/// Analysis `tasks`: which heads the model needs to prefer the better side of minimal pairs.
RegisteredAnalysis tasks_analysis();

}  // namespace headscope
