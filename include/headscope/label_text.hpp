#pragma once

#include <string>
#include <vector>

/// Labels as readers see them.
namespace headscope {

/// Underscores to spaces: `long range` for `long_range`.
std::string spaced(std::string name);
std::vector<std::string> spaced(std::vector<std::string> names);

}  // namespace headscope
