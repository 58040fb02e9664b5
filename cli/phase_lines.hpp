#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace headscope {

/// While this object exists, lines on stderr say that a phase goes on and how long it has lasted:
/// the first after `interval`, the next after twice as long, and so on. For where no terminal shows
/// one line that changes.
class PhaseLines {
 public:
  explicit PhaseLines(std::string phase,
                      std::chrono::milliseconds interval = std::chrono::seconds(10));

 private:
  void write(const std::stop_token& end, std::chrono::milliseconds interval);

  std::string phase_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread writer_;  // last, so that it ends first
};

}  // namespace headscope
