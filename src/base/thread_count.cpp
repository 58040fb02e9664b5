#include "base/thread_count.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/cgroup.hpp"

namespace headscope::blas {

ThreadCount default_thread_count() {
  if (const char* const set = std::getenv("OMP_NUM_THREADS"); set != nullptr) {
    const int count = std::atoi(set);  // `4,2` is 4 on the outer level
    if (count > 0) return {count, "OMP_NUM_THREADS"};
  }
  // A thread that OpenMP binds sees only its own place's processors.
  int count = 0;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    count += omp_get_place_num_procs(place);
  }
  count = std::max(std::min(count, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))),
                   omp_get_num_procs());
  const std::optional<double> share = cgroup_processors();
  const int most = omp_get_thread_limit();
  if (share && *share < std::min(count, most)) {
    return {static_cast<int>(std::ceil(*share)), "limit of the control group"};
  }
  if (most < count) return {most, "OMP_THREAD_LIMIT"};
  return {count, "all processors"};
}

}  // namespace headscope::blas
