#include <cblas.h>

#include "gpt2_small.hpp"
#include "side_by_side.hpp"

namespace headscope::bench {
namespace {

// Our product on our threads against one cblas_sgemm call on OpenBLAS's own threads.
void sgemm(benchmark::State& state, Index n_row, Index n_inner) {
  const auto n_token = static_cast<Index>(state.range(0));
  const int n_thread = static_cast<int>(state.range(1));
  const Matrix W(n_row, n_inner, arma::fill::randn), X(n_inner, n_token, arma::fill::randn);
  Matrix Y(n_row, n_token, arma::fill::zeros);
  const auto rows = static_cast<blasint>(n_row), inner = static_cast<blasint>(n_inner),
             tokens = static_cast<blasint>(n_token);
  const double flops = 2.0 * static_cast<double>(n_row) * static_cast<double>(n_inner) *
                       static_cast<double>(n_token);
  compare_with_sgemm(
      state, n_thread, flops, [&] { blas::multiply(W, X, Y); },
      [&] {
        openblas_set_num_threads(n_thread);
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, tokens, inner, 1, W.memptr(),
                    rows, X.memptr(), inner, 0, Y.memptr(), rows);
        openblas_set_num_threads(1);
      });
}

void lengths_and_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "threads"})
      ->ArgsProduct({{128, 1024}, {1, 2}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.3);
}

BENCHMARK_CAPTURE(sgemm, qkv, 2304, 768)->Apply(lengths_and_threads);
BENCHMARK_CAPTURE(sgemm, attention_output, 768, 768)->Apply(lengths_and_threads);
BENCHMARK_CAPTURE(sgemm, mlp_in, 3072, 768)->Apply(lengths_and_threads);
BENCHMARK_CAPTURE(sgemm, mlp_out, 768, 3072)->Apply(lengths_and_threads);

}  // namespace
}  // namespace headscope::bench
