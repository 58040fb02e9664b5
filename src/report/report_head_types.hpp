#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "headscope/head_types.hpp"
#include "headscope/presentation.hpp"

namespace headscope {

/// The names and colours of types, and by head its types, its primary type, and the types whose
/// label does not explain what the head does. Null without types.
nlohmann::json head_types_json(const Results& results,
                               const std::vector<Presentation>& presentations,
                               const HeadShape& shape);

/// Flags by head with three or more names, without head types: names, colours, values by head.
nlohmann::json head_categories_json(const Results& results, const HeadShape& shape);

/// For each head, its types with the score, baseline and threshold of each, and notes. Null without
/// types.
nlohmann::json head_reasons_json(const Results& results,
                                 const std::vector<Presentation>& presentations,
                                 const HeadShape& shape);

/// The examples of all groups, by head: type, text, and which characters of it are what.
nlohmann::json head_examples_json(const Results& results, const HeadShape& shape);

}  // namespace headscope
