#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Labels as readers see them.
namespace headscope {

/// Underscores to spaces: `long range` for `long_range`.
std::string spaced(std::string name);
std::vector<std::string> spaced(std::vector<std::string> names);

/// Characters of a UTF-8 text, combining ones included.
std::size_t character_count(std::string_view text);

}  // namespace headscope
