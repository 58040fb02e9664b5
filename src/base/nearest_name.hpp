#pragma once

#include <string>
#include <vector>

namespace headscope {

/// The name most like a mistyped one: the one that it begins, else the one in fewest changes of a
/// letter (at most a third of them). Empty if none is.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& names);

/// `; did you mean NAME?`, or `otherwise` where nothing is near.
std::string suggestion(const std::string& typed, const std::vector<std::string>& names,
                       const std::string& otherwise = "");

}  // namespace headscope
