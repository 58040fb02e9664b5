#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "headscope/head_types.hpp"
#include "headscope/presentation.hpp"

namespace headscope {

/// The lists of the head panel, each in the order of the presentations.

/// By head, the heads closest to it.
nlohmann::json nearest_heads_json(const Results& results,
                                  const std::vector<Presentation>& presentations,
                                  const HeadShape& shape);

/// By head, the largest edges that lead to it and from it.
nlohmann::json edge_lists_json(const Results& results,
                               const std::vector<Presentation>& presentations,
                               const HeadShape& shape);

/// By head, the rows in which it is better than the baseline, best first.
nlohmann::json best_rows_json(const Results& results,
                              const std::vector<Presentation>& presentations,
                              const HeadShape& shape);

}  // namespace headscope
