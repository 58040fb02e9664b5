#include "restart.hpp"

#include <omp.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/product/kernel.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

// Iterations of GNU OpenMP's spin loop, about ten nanoseconds each, before a thread sleeps.
constexpr const char* spin_count = "1000";

// Stack of OpenMP's threads, whatever `ulimit -s` and the user's OMP_STACKSIZE are.
constexpr const char* thread_stack = "8M";

// Whether the limit of the main thread's stack was below the default of most systems and could be
// raised.
bool raise_stack_limit() {
  constexpr rlim_t enough = rlim_t{8} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= std::min(enough, limit.rlim_max)) {
    return false;
  }
  limit.rlim_cur = std::min(enough, limit.rlim_max);
  return setrlimit(RLIMIT_STACK, &limit) == 0;
}

// OpenMP may have bound this thread to one processor, which the restarted program would inherit.
void allow_processors_of_all_places() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids) CPU_SET(static_cast<std::size_t>(id), &processors);
  }
  if (CPU_COUNT(&processors) > 0) sched_setaffinity(0, sizeof processors, &processors);
}

// False if the program was started as `ld.so PROGRAM`: /proc/self/exe is then the loader.
bool can_be_started_again() {
  return getauxval(AT_BASE) != 0;
}

}  // namespace

void check_stack_limit() {
  constexpr rlim_t kibibyte = 1024, least = 512 * kibibyte;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least) return;
  throw Error("stack: expected at least " + std::to_string(least / kibibyte) + " KiB, got " +
              std::to_string(limit.rlim_cur / kibibyte) + " (`ulimit -s`)");
}

void restart_with_best_settings(char** argv) {
  if (!can_be_started_again()) return;
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  std::vector<std::pair<const char*, std::string>> settings;
  const auto require = [&](const char* name, const char* value) {
    if (!is_set(name) || std::string_view(std::getenv(name)) != value) {
      settings.emplace_back(name, value);
    }
  };
  const std::optional<std::string> kernel =
      blas::better_kernel(this_processor(), blas::kernel_in_use());
  if (kernel && !is_set("OPENBLAS_CORETYPE")) settings.emplace_back("OPENBLAS_CORETYPE", *kernel);
  if (!is_set("OMP_WAIT_POLICY") && !is_set("GOMP_SPINCOUNT")) {
    settings.emplace_back("GOMP_SPINCOUNT", spin_count);
  }
  // The library's own threads call OpenBLAS. OpenBLAS's would only take memory, and where that is
  // limited they try for ever to get it.
  require("OPENBLAS_NUM_THREADS", "1");
  // A stack that is too small for the library's loops would end the program.
  require("OMP_STACKSIZE", thread_stack);
  const bool more_stack = raise_stack_limit();
  if (settings.empty() && !more_stack) return;
  for (const auto& [name, value] : settings) setenv(name, value.c_str(), 1);
  allow_processors_of_all_places();
  execv("/proc/self/exe", argv);
  for (const auto& [name, value] : settings) unsetenv(name);
}

}  // namespace headscope
