#pragma once

#include <ctime>

namespace headscope {

/// Time of a clock of the system, in seconds.
inline double clock_seconds(clockid_t clock) {
  constexpr double nano = 1e-9;
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + nano * static_cast<double>(now.tv_nsec);
}

/// Processor time that the threads of this process have taken together, in seconds. Other processes
/// do not lengthen it.
inline double processor_seconds() {
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/// Processor time that the calling thread has taken, in seconds.
inline double thread_seconds() {
  return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace headscope
