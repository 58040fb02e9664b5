#pragma once

#include <nlohmann/json_fwd.hpp>

#include "headscope/results.hpp"
#include "report/head_variables.hpp"

namespace headscope {

/// What the model predicts after each token of a text, of the first group that has
/// `candidate_text`, `candidate_probability` and `candidate_logit` (token, rank), the last rank
/// being the token that follows in the text, and `candidate_effect` (token, rank, layer, head).
/// Null if there is none.
nlohmann::json predictions(const Results& results, const HeadShape& shape);

/// Queries and keys, of the first group that has `query`, scaled as in the scores, and `key`
/// (layer, head, token, dimension). Null if there is none.
nlohmann::json neurons(const Results& results, const HeadShape& shape);

}  // namespace headscope
