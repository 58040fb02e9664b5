#pragma once

#include "base/cache_line.hpp"

namespace headscope {

/// At least `size` floats for the calling thread, from a cache line's beginning, valid until its
/// next call.
inline float* thread_scratch(std::size_t size) {
  thread_local CacheLines<float> scratch;
  if (scratch.size() < size) {
    scratch = {};  // given back before more is taken
    scratch = CacheLines<float>(size);
  }
  return scratch.data();
}

}  // namespace headscope
