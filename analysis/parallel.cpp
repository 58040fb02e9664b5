#include "parallel.hpp"

#include <omp.h>

#include "base/thread_errors.hpp"

namespace headscope {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  parallel_for_workers(count, [&](std::size_t index, std::size_t) { body(index); });
}

void parallel_for_workers(std::size_t count,
                          const std::function<void(std::size_t, std::size_t)>& body) {
  for_each_in_parallel(count, [&](std::size_t index) {
    body(index, static_cast<std::size_t>(omp_get_thread_num()));
  });
}

std::size_t worker_count() {
  return static_cast<std::size_t>(omp_get_max_threads());
}

}  // namespace headscope
