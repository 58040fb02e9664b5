#include "support/subprocess.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/temporary_directory.hpp"

extern char** environ;

namespace headscope::test {

namespace fs = std::filesystem;

Running::Running(const std::vector<std::string>& program_and_arguments)
    : captured_(std::make_unique<TemporaryDirectory>()) {
  const std::string out = captured_->file("out"), err = captured_->file("err");
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
  const int failed =
      posix_spawnp(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program_and_arguments[0]);
}

Running::~Running() {
  if (ended_) return;
  ::kill(child_, SIGKILL);
  waitpid(child_, &status_, 0);
}

void Running::send(int signal) const {
  if (!ended_) ::kill(child_, signal);
}

bool Running::has_ended() {
  if (!ended_) ended_ = wait4(child_, &status_, WNOHANG, &usage_) == child_;
  return ended_;
}

Finished Running::wait() {
  if (!ended_) wait4(child_, &status_, 0, &usage_);
  ended_ = true;
  Finished finished;
  finished.exit_status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  finished.out = read_file(captured_->file("out"));
  finished.err = read_file(captured_->file("err"));
  finished.peak_kib = usage_.ru_maxrss;
  return finished;
}

Finished run_program(const std::vector<std::string>& program_and_arguments) {
  return Running(program_and_arguments).wait();
}

std::vector<std::string> headscope_call(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{HEADSCOPE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

Finished run_headscope(const std::vector<std::string>& arguments) {
  return run_program(headscope_call(arguments));
}

}  // namespace headscope::test
