#include "phase_lines.hpp"

#include <cmath>
#include <cstdio>
#include <system_error>

#include "base/number_text.hpp"

namespace headscope {

std::string duration_text(double seconds) {
  const long long rounded = std::llround(seconds);
  if (rounded < 60) return std::to_string(rounded) + " s";
  if (rounded < 3600)
    return std::to_string(rounded / 60) + " min " + std::to_string(rounded % 60) + " s";
  return std::to_string(rounded / 3600) + " h " + std::to_string(rounded % 3600 / 60) + " min";
}

std::string rate_text(std::uint64_t n_token, double seconds) {
  if (n_token == 0 || !(seconds > 0)) return "";
  const double rate = static_cast<double>(n_token) / seconds,
               unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  const std::string number = number_text(std::round(rate / unit) * unit, 2);
  return number + (number == "1" ? " token/s" : " tokens/s");
}

PhaseLines::PhaseLines(std::chrono::milliseconds interval) : interval_(interval) {
  try {
    writer_ = std::jthread([this](const std::stop_token& stop) { write(stop); });
  } catch (const std::system_error&) {
    // The lines are no reason to end a run.
  }
}

void PhaseLines::begin(std::string phase) {
  const std::lock_guard lock(mutex_);
  const bool is_first = phase_.empty();
  phase_ = std::move(phase);
  start_ = Clock::now();
  next_ = interval_;
  // A writer that waits for a line finds the new phase when it wakes.
  if (is_first) changed_.notify_one();
}

void PhaseLines::write(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (phase_.empty()) {
      changed_.wait(lock, stop, [this] { return !phase_.empty(); });
    } else if (Clock::now() < start_ + next_) {
      changed_.wait_until(lock, stop, start_ + next_, [] { return false; });
    } else {
      const double seconds = std::chrono::duration<double>(next_).count();
      const std::string line = phase_ + ", " + duration_text(seconds) + " so far\n";
      std::fputs(line.c_str(), stderr);
      next_ *= 2;
    }
  }
}

}  // namespace headscope
