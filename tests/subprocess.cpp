#include "subprocess.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "temporary_directory.hpp"

extern char** environ;

namespace headscope::testing {

namespace fs = std::filesystem;

Finished run_program(const std::vector<std::string>& program_and_arguments) {
  const TemporaryDirectory captured;
  const std::string out = captured.file("out"), err = captured.file("err");
  std::vector<char*> arguments;
  for (const std::string& argument : program_and_arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program_and_arguments[0]);

  int status = 0;
  waitpid(child, &status, 0);
  Finished finished;
  finished.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.out = read_file(out);
  finished.err = read_file(err);
  return finished;
}

Finished run_headscope(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{HEADSCOPE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(all);
}

}  // namespace headscope::testing
