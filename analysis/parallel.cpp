#include "parallel.hpp"

#include <omp.h>

#include "base/thread_errors.hpp"

namespace headscope {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for_workers(count, [&](std::size_t index, std::size_t) { body(index); });
}

void parallel_for_workers(std::size_t count,
                          const std::function<void(std::size_t, std::size_t)>& body) {
  ThreadErrors errors;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) {
    errors.run([&] { body(i, static_cast<std::size_t>(omp_get_thread_num())); });
  }
  errors.rethrow();
}

std::size_t worker_count() {
  return static_cast<std::size_t>(omp_get_max_threads());
}

}  // namespace headscope
