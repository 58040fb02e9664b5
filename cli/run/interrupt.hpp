#pragma once

#include <csignal>
#include <stdexcept>
#include <string>

namespace headscope {

/// While this object exists, SIGINT and SIGTERM are recorded instead of ending the program; a
/// second signal ends it at once. At most one object at a time.
class InterruptNote {
 public:
  InterruptNote();
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;

  /// The signal received; 0 if none.
  int signal() const;

 private:
  struct sigaction old_interrupt_, old_terminate_;
};

/// A run that saved and stopped because of a signal: exit status 128 + signal.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(int signal, const std::string& message)
      : std::runtime_error(message), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace headscope
