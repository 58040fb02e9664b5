#include "memory_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <limits>
#include <optional>

#include "base/cgroup.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/thread_count.hpp"
#include "headscope/blas.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

/// `program 56 MiB, weights 11 MiB`.
std::string parts_text(const std::vector<MemoryPart>& parts) {
  return joined(parts, ", ",
                [](const MemoryPart& part) { return part.name + " " + memory_text(part.bytes); });
}

}  // namespace

void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit,
                  const std::string& what_helps) {
  const std::uint64_t total = total_bytes(parts);
  if (total <= limit) return;
  throw UsageError("--memory: expected at least " + memory_text(total) + " for this run, got " +
                   memory_text(limit) + " (" + parts_text(parts) + ")" + what_helps);
}

std::uint64_t available_memory() {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    available = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  const std::optional<double> limit = cgroup_memory();
  return limit && *limit < static_cast<double>(available) ? static_cast<std::uint64_t>(*limit)
                                                          : available;
}

std::string memory_warning(const std::vector<MemoryPart>& parts, std::uint64_t available,
                           const std::string& what_helps) {
  const std::uint64_t total = total_bytes(parts);
  if (total <= available) return "";
  return "this run may need " + memory_text(total) + " of memory, but can have at most " +
         memory_text(available) + " (" + parts_text(parts) + ")" + what_helps;
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
