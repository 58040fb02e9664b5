#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "base/cache_line.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// Memory that grows to the largest requested shape and is reused, because fresh pages cost more
/// than the arithmetic done in them. Contents are undefined after each request, and earlier
/// matrices become invalid.
class Buffer {
 public:
  Matrix matrix(Index n_row, Index n_col) {
    return {reserve(n_row * n_col), n_row, n_col, false, true};
  }
  Cube cube(Index n_row, Index n_col, Index n_slice) {
    return {reserve(n_row * n_col * n_slice), n_row, n_col, n_slice, false, true};
  }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };

  float* reserve(std::size_t size) {
    if (size > capacity_) {
      memory_.reset();
      capacity_ = 0;
      const std::size_t bytes = (size * sizeof(float) + cache_line - 1) / cache_line * cache_line;
      memory_.reset(static_cast<float*>(std::aligned_alloc(cache_line, bytes)));
      if (!memory_) throw std::bad_alloc();
      capacity_ = size;
    }
    return memory_.get();
  }

  std::unique_ptr<float, Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace headscope
