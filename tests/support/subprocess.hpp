#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace headscope::testing {

class TemporaryDirectory;

struct Finished {
  int exit_status = -1;  ///< 128 + signal number when killed
  std::string out;
  std::string err;
  long peak_kib = 0;  ///< most memory held at once (resident set)
};

/// A program on its way, found on PATH and started without a shell; killed when it goes out of
/// scope.
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

/// The headscope binary of this build, before its arguments.
std::vector<std::string> headscope_call(const std::vector<std::string>& arguments);

/// Runs the headscope binary of this build with these arguments, without a shell.
Finished run_headscope(const std::vector<std::string>& arguments);

}  // namespace headscope::testing
