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

/// A folder of its own for one test, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace headscope::testing
