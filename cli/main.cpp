#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "commands.hpp"
#include "headscope/error.hpp"
#include "restart.hpp"

namespace {

// Opens /dev/null in place of each closed standard stream. Otherwise the next file opened would get
// the stream's number and receive its output. The access mode is reversed, so that using the stream
// still fails.
void keep_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::_Exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    headscope::restart_with_best_settings(argv);
  } catch (const headscope::Error& error) {
    std::cerr << "headscope: " << error.what() << "\n";
    return 2;
  }
  keep_streams();
  // With the signal ignored, writing beyond `ulimit -f` fails like writing to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  std::cout.exceptions(std::ios::badbit);
  // Untied: writing an error to stderr must not flush stdout, which may fail too.
  std::cerr.tie(nullptr);
  return headscope::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
