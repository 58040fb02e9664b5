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

/// Runs a script of tests/reference by Debian's Python, on one thread: small matrices gain nothing
/// by a second, and tests run side by side. A script that ends with another status than 0 is a
/// failure of the test. @return what the script prints.
std::string run_reference(const std::string& script, const std::vector<std::string>& arguments);

/// Path of this build's headscope binary, followed by the arguments.
std::vector<std::string> headscope_call(const std::vector<std::string>& arguments);

/// Runs this build's headscope binary without a shell.
Finished run_headscope(const std::vector<std::string>& arguments);

/// The same where gnuplot is not found: a run draws no figures, which takes less time.
Finished run_headscope_without_gnuplot(const std::vector<std::string>& arguments);

}  // namespace headscope::test
