#include "headscope/kernel.hpp"

#include <cblas.h>
#include <omp.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/product/weight_product.hpp"
#include "headscope/blas.hpp"

namespace headscope::blas {
namespace {

// Iterations of GNU OpenMP's spin loop, about ten nanoseconds each, before a thread sleeps.
constexpr const char* spin_count = "1000";

// Width of the vectors of a kernel or a processor.
enum class Vectors { sse, avx, avx2, avx512 };

Vectors vectors_of_kernel(std::string_view kernel) {
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), kernel) != names.end();
  };
  constexpr std::array<std::string_view, 3> avx512{"SkylakeX", "Cooperlake", "SapphireRapids"};
  constexpr std::array<std::string_view, 3> avx2{"Haswell", "Zen", "Excavator"};
  constexpr std::array<std::string_view, 4> avx{"Sandybridge", "Bulldozer", "Piledriver",
                                                "Steamroller"};
  if (is_one_of(avx512)) return Vectors::avx512;
  if (is_one_of(avx2)) return Vectors::avx2;
  return is_one_of(avx) ? Vectors::avx : Vectors::sse;
}

Vectors vectors_of(const Processor& processor) {
  if (processor.avx512) return Vectors::avx512;
  return processor.avx2 ? Vectors::avx2 : Vectors::sse;
}

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

std::optional<std::string> better_kernel(const Processor& processor, const std::string& own) {
  const Vectors possible = vectors_of(processor);
  if (possible <= vectors_of_kernel(own)) return std::nullopt;
  return possible == Vectors::avx512 ? "SkylakeX" : "Haswell";
}

std::string kernel_in_use() {
  return openblas_get_corename();
}

std::string arithmetic_in_use(const std::set<Engine>& engines) {
  std::string text = library_description() + ", " + this_processor().vectors();
  for (const Engine engine : engines) {
    if (is_packed(engine)) text += ", " + engine_name(engine);
  }
  const int n_thread = thread_count();
  return text + ", " + std::to_string(n_thread) + (n_thread == 1 ? " thread" : " threads");
}

std::string kernel_warning() {
  const Processor& processor = this_processor();
  const std::optional<std::string> better = better_kernel(processor, kernel_in_use());
  if (!better) return "";
  return "OpenBLAS multiplies matrices with its kernel " + kernel_in_use() +
         ", several times slower than this processor (" + processor.widest() +
         ") can: set OPENBLAS_CORETYPE=" + *better + " before starting";
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
  const std::optional<std::string> kernel = better_kernel(this_processor(), kernel_in_use());
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

}  // namespace headscope::blas
