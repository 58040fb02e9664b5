#pragma once

#include <csignal>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headscope {

/// While this object exists, SIGINT and SIGTERM are recorded instead of ending the program. A
/// second signal ends it at once, except a signal's echo, which comes within 0.3 s of the first. A
/// signal that the program was started to ignore, as shells do with SIGINT for a script's
/// background jobs, stays ignored. At most one object at a time.
///
/// The work has a second to reach its next stop, where it saves and ends. A piece that takes longer
/// is given up: the program then ends at once, with what was saved before.
class InterruptNote {
 public:
  /// @param quiet    do not say at once that a signal was received.
  /// @param message  what the program says, after the signal's name, if it gives a piece up.
  InterruptNote(bool quiet, std::string message);
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;

  /// The signal received; 0 if none.
  int signal() const;

  /// Runs what must not be given up, such as saving. Afterwards `message` is what the
  /// program says if it gives a piece up.
  template <typename Action>
  void undisturbed(const Action& action, const std::string& message) {
    const std::lock_guard lock(giving_up_);
    action();
    message_ = message;
  }

 private:
  void watch();

  bool quiet_;
  std::string message_;
  std::mutex giving_up_;  // guards message_
  std::promise<void> end_;
  std::thread watcher_;
  std::vector<std::pair<int, struct sigaction>> replaced_;  // signals and their earlier actions
};

/// `SIGINT` or `SIGTERM`.
std::string signal_name(int signal);

/// A run that saved and stopped because of a signal: exit status 128 + signal.
class Interrupted : public std::runtime_error {
 public:
  /// @param message  `SIGINT: ` is put before it.
  Interrupted(int signal, const std::string& message)
      : std::runtime_error(signal_name(signal) + ": " + message), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace headscope
