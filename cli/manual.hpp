#pragma once

#include <string>

/// Made from the commands and their options.
namespace headscope {

/// The manual page, for man.
std::string man_page();

/// Completion of commands, options and their choices, also after a comma.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace headscope
