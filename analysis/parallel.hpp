#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace headscope {

/// Runs body(0) to body(count - 1) on all threads, in any order.
/// @throws the first error that a body threw, after all calls that had begun; no others begin.
void parallel_for(std::size_t count, const std::function<void(std::size_t index)>& body);

/// The same, also passing the number of the calling worker, below worker_count(). A worker makes
/// one call at a time.
void parallel_for_workers(std::size_t count,
                          const std::function<void(std::size_t index, std::size_t worker)>& body);
std::size_t worker_count();

/// The same with scratch memory: body(index, scratch), where each worker has its own copy of
/// `initial`.
template <typename Scratch, typename Body>
void parallel_for(std::size_t count, const Scratch& initial, const Body& body) {
  std::vector<Scratch> scratch(worker_count(), initial);
  parallel_for_workers(
      count, [&](std::size_t index, std::size_t worker) { body(index, scratch[worker]); });
}

}  // namespace headscope
