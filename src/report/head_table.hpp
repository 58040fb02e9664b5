#pragma once

#include <string>

#include "headscope/results.hpp"

namespace headscope {

/// Writes `{directory}/heads.csv`: one row per head with its types and every number and flag by
/// layer and head of all groups, those of nested groups included, each with its interval's bounds;
/// named `GROUP.VARIABLE` or `GROUP.VARIABLE.LABEL`. Variables with more than 24 further labels
/// (relations) have a table of their own alone, and columns without a value are left out. A removed
/// head has the primary type `removed` and no values. Writes nothing if no variable is by layer and
/// head.
/// @throws DataError if it cannot be written.
void write_head_table(const Results& results, const std::string& directory);

}  // namespace headscope
