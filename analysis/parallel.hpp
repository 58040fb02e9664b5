#pragma once

#include <cstddef>
#include <functional>

namespace headscope {

/// Runs body(0) to body(count - 1) on all threads, in no order. What one of them throws, which must
/// not leave a parallel region, is thrown once all have ended; of several errors the first.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace headscope
