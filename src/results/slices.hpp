#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// The elements of a variable at one combination of labels.
struct Slice {
  std::string label;  ///< `zero`; `offset 4`; several joined by a comma; empty where there is none
  std::vector<std::size_t> at;  ///< row-major offsets of the elements
};

/// Splits a variable by its labels along all dimensions but `within`. The slices are row-major
/// along the former, the elements of each along `within`; dimensions that the variable lacks are
/// left out.
std::vector<Slice> slices(const ResultsGroup& group, const Variable& variable,
                          const std::vector<std::string>& within);

}  // namespace headscope
