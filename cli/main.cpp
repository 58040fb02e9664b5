#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "command_line.hpp"
#include "headscope/kernel.hpp"

namespace {

// A file opened in the place of a closed stream would take in what is meant for the stream. What
// stands there instead is opened the wrong way round, so that using it still fails.
void keep_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::_Exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  headscope::blas::restart_with_best_settings(argv);
  keep_streams();
  // A file that may not grow is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::cout.exceptions(std::ios::badbit);
  // Saying what went wrong must not go through standard output.
  std::cerr.tie(nullptr);
  return headscope::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
