#include "parallel.hpp"

#include <exception>

namespace headscope {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::exception_ptr error;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
#pragma omp critical(headscope_parallel_for)
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace headscope
