#pragma once

#include <optional>
#include <string>

#include "headscope/presentation.hpp"
#include "headscope/results.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// What the report's head map, head panel and pattern view show, as JSON that is safe inside a
/// `script` element: each head's scores, types, closest heads and patterns. Empty if the results
/// hold nothing by head.
/// @param opened  the head whose panel is open from the start, if there is one.
std::string head_data_json(const Results& results, const std::vector<Presentation>& presentations,
                           std::optional<HeadIndex> opened = {});

}  // namespace headscope
