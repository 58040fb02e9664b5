#include "parallel.hpp"

#include <omp.h>

#include <atomic>
#include <exception>

namespace headscope {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for_workers(count, [&](std::size_t index, std::size_t) { body(index); });
}

void parallel_for_workers(std::size_t count,
                          const std::function<void(std::size_t, std::size_t)>& body) {
  // An exception must not leave an OpenMP parallel region.
  std::exception_ptr error;
  std::atomic<bool> failed = false;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) {
    if (failed) continue;
    try {
      body(i, static_cast<std::size_t>(omp_get_thread_num()));
    } catch (...) {
      failed = true;
#pragma omp critical(headscope_parallel_for)
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

std::size_t worker_count() {
  return static_cast<std::size_t>(omp_get_max_threads());
}

}  // namespace headscope
