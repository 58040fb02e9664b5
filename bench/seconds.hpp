#pragma once

#include <chrono>

namespace headscope::bench {

/// How long a call of `work` takes.
template <typename Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace headscope::bench
