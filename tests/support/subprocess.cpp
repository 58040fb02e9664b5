#include "support/subprocess.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/temporary_directory.hpp"

namespace headscope::test {

namespace fs = std::filesystem;

namespace {

// Becomes the program named by the first argument; false if that fails. Between vfork and exec
// memory is the parent's, so only system calls are made.
bool become(char* const arguments[], const char* out, const char* err, pid_t parent) {
  // A test that is killed leaves no program behind.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return false;
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  if (dup2(open("/dev/null", O_RDONLY), STDIN_FILENO) < 0 ||
      dup2(open(out, flags, 0600), STDOUT_FILENO) < 0 ||
      dup2(open(err, flags, 0600), STDERR_FILENO) < 0) {
    return false;
  }
  // A shell that started the tests in the background made SIGINT ignored.
  if (signal(SIGINT, SIG_DFL) == SIG_ERR) return false;
  execvp(arguments[0], arguments);
  return false;
}

}  // namespace

Running::Running(const std::vector<std::string>& program_and_arguments)
    : captured_(std::make_unique<TemporaryDirectory>()) {
  const std::string out = captured_->file("out"), err = captured_->file("err");
  std::vector<char*> arguments;
  for (const std::string& argument : program_and_arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  const pid_t parent = getpid();
  volatile bool failed = false;
  child_ = vfork();
  if (child_ == 0) {
    failed = !become(arguments.data(), out.c_str(), err.c_str(), parent);
    _exit(127);
  }
  failed = failed || child_ < 0;
  if (failed) throw std::runtime_error("cannot start " + program_and_arguments[0]);
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

std::string run_reference(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"env", "OPENBLAS_NUM_THREADS=1", "/usr/bin/python3",
                               HEADSCOPE_PROJECT_DIR "/tests/reference/" + script};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Finished finished = run_program(all);
  EXPECT_EQ(finished.exit_status, 0) << finished.out << finished.err;
  return finished.out;
}

std::vector<std::string> headscope_call(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{HEADSCOPE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

Finished run_headscope(const std::vector<std::string>& arguments) {
  return run_program(headscope_call(arguments));
}

Finished run_headscope_without_gnuplot(const std::vector<std::string>& arguments) {
  std::vector<std::string> call{"env", "PATH=/nonexistent"};
  for (const std::string& word : headscope_call(arguments)) call.push_back(word);
  return run_program(call);
}

}  // namespace headscope::test
