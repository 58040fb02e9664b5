#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace headscope::test {

class TemporaryDirectory;

struct Finished {
  int exit_status = -1;  ///< 128 + signal number if killed
  std::string out;
  std::string err;
  long peak_kib = 0;  ///< peak resident memory, KiB
};

/// A running program, found on PATH and started without a shell; killed at destruction.
class Running {
 public:
  explicit Running(const std::vector<std::string>& program_and_arguments);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void send(int signal) const;
  bool has_ended();
  Finished wait();

 private:
  std::unique_ptr<TemporaryDirectory> captured_;
  pid_t child_ = 0;
  int status_ = 0;
  struct rusage usage_ {};
  bool ended_ = false;
};

/// Runs any program found on PATH.
Finished run_program(const std::vector<std::string>& program_and_arguments);

/// Path of this build's headscope binary, followed by the arguments.
std::vector<std::string> headscope_call(const std::vector<std::string>& arguments);

/// Runs this build's headscope binary without a shell.
Finished run_headscope(const std::vector<std::string>& arguments);

}  // namespace headscope::test
