#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/head_variables.hpp"

namespace headscope {

/// The attention patterns of the first documents for the pattern view: `title`, `tokens`, and
/// `pattern`, base64 of one byte a weight, round(255 sqrt(A)), unit by unit, query by query, keys
/// 0 .. query. Documents and tokens are limited so that all patterns together fit in
/// `most_pattern_bytes`. Attention is causal, so leaving out later tokens changes nothing.
nlohmann::json pattern_documents(const Results& results, const HeadShape& shape);

inline constexpr std::size_t most_pattern_documents = 4;
inline constexpr std::size_t most_pattern_bytes = 2'000'000;

}  // namespace headscope
