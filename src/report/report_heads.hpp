#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headscope/head_types.hpp"
#include "headscope/presentation.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// What the report's head map, head panel and pattern view show, as JSON that is safe inside a
/// `script` element: each head's scores, types, closest heads and patterns. Empty if the results
/// hold nothing by head.
/// @param opened  the head whose panel is open from the start, if there is one.
std::string head_data_json(const Results& results, const std::vector<Presentation>& presentations,
                           std::optional<HeadIndex> opened = {});

// Its parts.

/// The names and colours of types, and by head its types, its primary type, and the types whose
/// label does not explain what the head does. Null without types.
nlohmann::json head_types_json(const Results& results,
                               const std::vector<Presentation>& presentations);

/// Flags by head with three or more names, without head types: names, colours, values by head.
nlohmann::json head_categories_json(const Results& results,
                                    const std::vector<Presentation>& presentations,
                                    const HeadShape& shape);

/// For each head, its types with the score, baseline and threshold of each, and notes. Null without
/// types.
nlohmann::json head_reasons_json(const Results& results,
                                 const std::vector<Presentation>& presentations,
                                 const HeadShape& shape);

/// The examples of all groups, by head: type, text, and which characters of it are what.
nlohmann::json head_examples_json(const Results& results, const HeadShape& shape);

/// Adds the lists of the head panel, each in the order of the presentations: `neighbours`, by head
/// the heads closest to it; `edges`, the largest edges that lead to it and from it; `tables`, the
/// rows in which it is better than the baseline, best first.
void add_head_lists(const Results& results, const std::vector<Presentation>& presentations,
                    const HeadShape& shape, nlohmann::json& data);

/// The attention patterns of the first documents for the head view: `title`, `section` (the id of
/// its section), `tokens`, and `kinds`, the attention and its other weightings. A kind is `shared`
/// if it has one matrix for all heads of a layer; its `bytes` are base64 of one byte a weight,
/// round(255 sqrt(w / largest)), matrix by matrix, query by query, keys 0 .. query. `largest` is
/// each matrix's largest weight; empty where weights are probabilities, whose scale ends at 1.
///
/// Tokens per document are limited so that all patterns fit in `most_pattern_bytes`. A further
/// document is left out if that limit would be below `least_pattern_tokens`.
/// Attention is causal, so leaving out later tokens changes nothing.
nlohmann::json pattern_documents(const Results& results, const HeadShape& shape);

inline constexpr std::size_t most_pattern_documents = 4;
inline constexpr std::size_t least_pattern_tokens = 48;
inline constexpr std::size_t most_pattern_bytes = 2'000'000;

/// What the model predicts after each token of a text, of the first group that has
/// `candidate_text`, `candidate_probability` and `candidate_logit` (token, rank), the last rank
/// being the token that follows in the text, and `candidate_effect` (token, rank, layer, head).
/// Null if there is none.
nlohmann::json predictions(const Results& results, const HeadShape& shape);

/// Queries and keys, of the first group that has `query`, scaled as in the scores, and `key`
/// (layer, head, token, dimension). Null if there is none.
nlohmann::json neurons(const Results& results, const HeadShape& shape);

}  // namespace headscope
