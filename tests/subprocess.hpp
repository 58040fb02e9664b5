#pragma once

#include <string>
#include <vector>

namespace headscope::testing {

struct Finished {
  int exit_status = -1;  ///< 128 + signal number when killed
  std::string out;
  std::string err;
};

/// Runs the headscope binary of this build with these arguments, without a shell.
Finished run_headscope(const std::vector<std::string>& arguments);

/// Runs any program found on PATH.
Finished run_program(const std::vector<std::string>& program_and_arguments);

}  // namespace headscope::testing
