#pragma once

#include <string>

namespace headscope::blas {

/// A number of threads and what decides it.
struct ThreadCount {
  int count = 1;
  std::string reason;  ///< `all processors`, `OMP_NUM_THREADS`, `limit of the control group`
};

/// OMP_NUM_THREADS if it is set; else the processors that the process may use, wherever OpenMP
/// binds its threads, at most OMP_THREAD_LIMIT and the control group's (container's) limit.
ThreadCount default_thread_count();

}  // namespace headscope::blas
