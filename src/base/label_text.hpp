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

/// A token as readers see it: without blanks around it; `‿ing` where it continues the word before;
/// `␣` and `↵` for blanks and line ends alone.
/// @param before  the text that it follows; empty at the beginning.
std::string token_label(std::string_view token, std::string_view before);

/// The labels of a text's tokens in order.
std::vector<std::string> token_labels(const std::vector<std::string>& tokens);

/// Characters of a UTF-8 text, combining ones included.
std::size_t character_count(std::string_view text);

}  // namespace headscope
