#include "memory_limit.hpp"

#include <sys/resource.h>

#include "headscope/blas.hpp"
#include "headscope/number_text.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20, gibibyte = 1 << 30;

}  // namespace

void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit) {
  const std::uint64_t total = total_bytes(parts);
  if (total <= limit) return;
  std::string list;
  for (const MemoryPart& part : parts) {
    list += (list.empty() ? "" : ", ") + part.name + " " + memory_text(part.bytes);
  }
  throw UsageError("--memory: expected at least " + memory_text(total) + " for this run, got " +
                   memory_text(limit) + " (" + list + ")");
}

void check_address_space(std::uint64_t bytes) {
  // OpenBLAS's buffer, the heap's arena and the stack.
  constexpr std::uint64_t bytes_per_thread = std::uint64_t{300} << 20;
  const std::uint64_t needed =
      bytes + static_cast<std::uint64_t>(blas::thread_count()) * bytes_per_thread;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= needed) return;
  throw UsageError("address space: expected a limit (ulimit -v) of at least " +
                   memory_text(needed) + " for " + std::to_string(blas::thread_count()) +
                   " threads, got " + memory_text(limit.rlim_cur) + "; --threads takes fewer");
}

std::optional<std::uint64_t> parse_memory(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t unit = std::string_view("KMGT").find(text.back());
  const auto count = parse_whole_number(text.substr(0, text.size() - 1), 999'999);
  if (unit == std::string_view::npos || count.value_or(0) == 0) return std::nullopt;
  return *count << 10 * (unit + 1);
}

std::string memory_text(std::uint64_t bytes) {
  const auto in = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  return bytes < gibibyte ? decimals(in(mebibyte), bytes < 10 * mebibyte ? 1 : 0) + " MiB"
                          : decimals(in(gibibyte), 2) + " GiB";
}

}  // namespace headscope
