#pragma once

#include <string>

/// Made from the commands and their options.
namespace headscope {

/// The manual page, for man.
std::string man_page();

/// Completion of commands, options and their choices, for bash.
std::string bash_completion();

}  // namespace headscope
