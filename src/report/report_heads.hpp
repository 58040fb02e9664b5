#pragma once

#include <string>

#include "headscope/results.hpp"

namespace headscope {

/// What the report's head map, head panel and pattern view show, as JSON that is safe inside a
/// `script` element: each head's scores, types, closest heads and patterns. Empty if the results
/// hold nothing by head.
std::string head_data_json(const Results& results);

}  // namespace headscope
