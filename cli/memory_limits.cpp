#include "memory_limits.hpp"

#include <sys/resource.h>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/thread_count.hpp"
#include "headscope/blas.hpp"
#include "usage_error.hpp"

namespace headscope {

void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit,
                  const std::string& what_helps) {
  const std::uint64_t total = total_bytes(parts);
  if (total <= limit) return;
  const std::string list = joined(parts, ", ", [](const MemoryPart& part) {
    return part.name + " " + memory_text(part.bytes);
  });
  throw UsageError("--memory: expected at least " + memory_text(total) + " for this run, got " +
                   memory_text(limit) + " (" + list + ")" + what_helps);
}

void check_address_space(std::uint64_t bytes) {
  // OpenBLAS's buffer, the heap's arena and the stack.
  constexpr std::uint64_t bytes_per_thread = std::uint64_t{300} << 20;
  const auto n_thread = static_cast<std::size_t>(blas::thread_count());
  const std::uint64_t needed = bytes + n_thread * bytes_per_thread;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= needed) return;
  throw UsageError("address space: expected a limit (ulimit -v) of at least " +
                   memory_text(needed) + " for " + count_text(n_thread, "thread") + ", got " +
                   memory_text(limit.rlim_cur) + (n_thread > 1 ? "; --threads takes fewer" : ""));
}

void check_trial_memory(std::uint64_t bytes) {
  constexpr std::uint64_t trial_bytes = std::uint64_t{64} << 20;
  check_address_space(bytes + trial_bytes);
}

}  // namespace headscope
