#include "phase_lines.hpp"

#include <cstdio>

#include "duration_text.hpp"

namespace headscope {

PhaseLines::PhaseLines(std::string phase, std::chrono::milliseconds interval)
    : phase_(std::move(phase)),
      writer_([this, interval](const std::stop_token& end) { write(end, interval); }) {}

void PhaseLines::write(const std::stop_token& end, std::chrono::milliseconds interval) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  for (std::chrono::milliseconds time = interval;; time *= 2) {
    ended_.wait_until(lock, end, start + time, [&end] { return end.stop_requested(); });
    if (end.stop_requested()) return;
    const std::string line =
        phase_ + ", " + duration_text(std::chrono::duration<double>(time).count()) + " so far\n";
    std::fputs(line.c_str(), stderr);
  }
}

}  // namespace headscope
