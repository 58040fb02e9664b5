#pragma once

#include <string>
#include <vector>

namespace headscope {

/// The first name that begins with `typed`, else the one with fewest letters changed: at most a
/// third of `typed`'s letters, or one. Empty if there is none.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& names);

/// `; did you mean NAME?`, or `otherwise` where nothing is near.
std::string suggestion(const std::string& typed, const std::vector<std::string>& names,
                       const std::string& otherwise = "");

}  // namespace headscope
