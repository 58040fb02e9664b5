#pragma once

#include <string>
#include <vector>

namespace headscope {

/// Runs `headscope ARGUMENTS`: parses them, runs the command, and prints an error as one line on
/// stderr.
/// @param arguments  without the program's name.
/// @return 0 done, 1 failed, 2 wrong usage, 128 + signal if stopped by a signal.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace headscope
