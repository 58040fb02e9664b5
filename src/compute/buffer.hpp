#pragma once

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
  float* reserve(std::size_t size) {
    grow(size, memory_);
    return memory_.data();
  }

  CacheLines<float> memory_;
};

}  // namespace headscope
