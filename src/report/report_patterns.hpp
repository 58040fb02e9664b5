#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/head_variables.hpp"

namespace headscope {

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

}  // namespace headscope
