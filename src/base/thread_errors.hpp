#pragma once

#include <atomic>
#include <exception>
#include <utility>

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

}  // namespace headscope
