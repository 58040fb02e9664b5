#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headscope/option_table.hpp"

/// The commands of the command line. Readable results go to stdout, progress to stderr; errors are
/// thrown.
namespace headscope {

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Its options, bound to its fields.
  virtual OptionTable& options() { return options_; }
  /// Runs the command. @param command_line  as typed; recorded in the results.
  virtual void run(const std::string& command_line) = 0;

 protected:
  OptionTable options_;
};

struct RegisteredCommand {
  std::string name;
  std::string purpose;
  std::function<std::unique_ptr<Command>()> make;
  std::string heading;                ///< of its group in the help
  std::vector<std::string> examples;  ///< command lines without the program's name
  bool warns_of_slow_kernel = false;
};

/// Every command, in the order of the help.
const std::vector<RegisteredCommand>& commands();

RegisteredCommand run_command();
RegisteredCommand attend_command();
RegisteredCommand merge_command();
RegisteredCommand report_command();
RegisteredCommand compare_command();
RegisteredCommand inspect_command();
RegisteredCommand convert_command();
RegisteredCommand prune_command();
RegisteredCommand list_command();
RegisteredCommand tasks_command();

/// Runs `headscope ARGUMENTS`: parses them, runs the command, and prints an error as one line on
/// stderr.
/// @param arguments  without the program's name.
/// @return 0 done, 1 failed, 2 wrong usage, 128 + signal if stopped by a signal.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace headscope
