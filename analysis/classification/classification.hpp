#pragma once

#include "analysis.hpp"

namespace headscope {

/// Which head does what: scores, baselines, held-out tests and types of heads.
RegisteredAnalysis classification_analysis();

}  // namespace headscope
