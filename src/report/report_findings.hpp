#pragma once

#include <string>
#include <vector>

#include "headscope/results.hpp"

namespace headscope {

/// One line of the summary.
struct Finding {
  std::string about;  ///< "Syntax"
  std::string text;   ///< one or two plain sentences with this model's numbers
};

/// What the model's heads do in at most ten lines; an analysis that was not run has none.
std::vector<Finding> findings(const Results& results);

}  // namespace headscope
