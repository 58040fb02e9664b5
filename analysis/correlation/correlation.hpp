#pragma once

#include "analysis.hpp"

namespace headscope {

/// Group `correlation`: how alike the outputs and the attention of heads are.
RegisteredAnalysis correlation_analysis();

}  // namespace headscope
