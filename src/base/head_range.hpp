#pragma once

#include <string>
#include <vector>

namespace headscope {

/// The heads that a name stands for: `L2H3-5` is L2H3, L2H4 and L2H5, which share keys and values.
/// Any other name stands for itself.
std::vector<std::string> heads_in(const std::string& name);

}  // namespace headscope
