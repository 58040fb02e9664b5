#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace headscope {

/// The time in whole seconds, minutes or hours: `41 s`, `2 min 5 s`, `1 h 12 min`.
std::string duration_text(double seconds);

/// Tokens per second in two significant digits: `3700 tokens/s`, `0.4 tokens/s`, `1 token/s`. Empty
/// where no token or no time has passed.
std::string rate_text(std::uint64_t n_token, double seconds);

/// Lines on stderr that say what goes on and how long it has lasted: the first after `interval`,
/// the next after twice as long, and so on. For where no terminal shows one line that changes.
class PhaseLines {
 public:
  /// Where the system has no room for one more thread, nothing is written.
  explicit PhaseLines(std::chrono::milliseconds interval = std::chrono::seconds(10));

  /// What is being done from now on.
  void begin(std::string phase);
  /// Nothing is written until the next phase begins.
  void end() { begin(""); }

 private:
  using Clock = std::chrono::steady_clock;

  void write(const std::stop_token& stop);

  const std::chrono::milliseconds interval_;
  std::mutex mutex_;                     // guards the members below it
  std::string phase_;                    // empty: none
  Clock::time_point start_;              // of the phase
  std::chrono::milliseconds next_{0};    // age of the phase at its next line
  std::condition_variable_any changed_;  // a phase begins after none
  std::jthread writer_;                  // last, so that it ends first
};

}  // namespace headscope
