#include <benchmark/benchmark.h>

#include "headscope/blas.hpp"
#include "headscope/processor.hpp"
#include "restart.hpp"

int main(int argc, char** argv) {
  headscope::restart_with_best_settings(argv);
  benchmark::AddCustomContext("blas", headscope::blas::library_description());
  benchmark::AddCustomContext("processor", headscope::this_processor().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
