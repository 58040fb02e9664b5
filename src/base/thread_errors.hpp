#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace headscope {

/// Takes the first error of a parallel loop to the thread that began the loop. An exception that
/// left an OpenMP region would end the program.
class ThreadErrors {
 public:
  /// Calls `body`, and keeps what it throws; does nothing once an error is kept.
  template <typename Body>
  void run(Body&& body) {
    if (failed_) return;
    try {
      std::forward<Body>(body)();
    } catch (...) {
      failed_ = true;
#pragma omp critical(headscope_thread_errors)
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }

  /// After the loop. @throws the first error kept.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::exception_ptr first_;
};

/// Calls body(0) to body(count - 1), on the OpenMP threads as they become free.
/// @throws the first error that a call threw.
template <typename Body>
void for_each_in_parallel(std::size_t count, const Body& body) {
  ThreadErrors errors;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) errors.run([&] { body(i); });
  errors.rethrow();
}

/// The same with scratch memory: body(index, scratch), where each thread has its own copy of
/// `initial`.
template <typename Scratch, typename Body>
void for_each_in_parallel(std::size_t count, const Scratch& initial, const Body& body) {
  std::vector<Scratch> scratch(static_cast<std::size_t>(omp_get_max_threads()), initial);
  for_each_in_parallel(count, [&](std::size_t i) {
    body(i, scratch[static_cast<std::size_t>(omp_get_thread_num())]);
  });
}

/// The same for blocks of 0 .. count - 1: body(first, size of the block).
template <typename Body>
void for_blocks_in_parallel(std::size_t count, std::size_t block, const Body& body) {
  for_each_in_parallel((count + block - 1) / block,
                       [&](std::size_t i) { body(i * block, std::min(block, count - i * block)); });
}

}  // namespace headscope
