#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// A text as part of a file's name: letters and digits of any script, '_', '-' and '.' as they are,
/// any other character as '_'; at most 80 bytes.
std::string file_name(std::string_view text);

/// The same for several texts, with names that differ in more than capitals: `a_b`, `a_b_2`.
std::vector<std::string> file_names(const std::vector<std::string>& texts);

}  // namespace headscope
