#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "headscope/blas.hpp"
#include "seconds.hpp"

namespace headscope::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Times `work` and `sgemm`, the bare matrix products inside it, alternately, so that both run
/// under the same load. Reports the ratio of their medians and both speeds.
///
/// @param n_thread  threads for both.
/// @param flops     floating-point operations of the products.
template <typename Work, typename Sgemm>
void compare_with_sgemm(benchmark::State& state, int n_thread, double flops, Work&& work,
                        Sgemm&& sgemm) {
  const int before = blas::thread_count();
  blas::set_thread_count(n_thread);
  work();
  sgemm();
  std::vector<double> work_seconds, sgemm_seconds;
  for (auto _ : state) {
    work_seconds.push_back(seconds(work));
    sgemm_seconds.push_back(seconds(sgemm));
    state.SetIterationTime(work_seconds.back());
  }
  blas::set_thread_count(before);
  state.counters["ratio_to_sgemm"] = median(work_seconds) / median(sgemm_seconds);
  state.counters["ms"] = 1e3 * median(work_seconds);
  state.counters["sgemm_ms"] = 1e3 * median(sgemm_seconds);
  state.counters["sgemm_gflops"] = 1e-9 * flops / median(sgemm_seconds);
}

}  // namespace headscope::bench
