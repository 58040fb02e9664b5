#pragma once

#include <ctime>

namespace headscope {

/// Processor time that the threads of this process have taken together, in seconds. Other processes
/// do not lengthen it.
inline double processor_seconds() {
  constexpr double nano = 1e-9;
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + nano * static_cast<double>(now.tv_nsec);
}

}  // namespace headscope
