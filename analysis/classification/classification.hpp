#pragma once

#include "analysis.hpp"

namespace headscope {

/// Analysis `classification`: scores, baselines, held-out tests and types of heads.
RegisteredAnalysis classification_analysis();

}  // namespace headscope
