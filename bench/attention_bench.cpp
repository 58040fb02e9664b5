#include "gpt2_small.hpp"
#include "headscope/attention.hpp"
#include "side_by_side.hpp"

namespace headscope::bench {
namespace {

// One layer of GPT-2 small, from projected queries, keys and values.
void causal_attention(benchmark::State& state, bool keep_patterns) {
  const ModelConfig config = gpt2_small();
  const auto n_token = static_cast<Index>(state.range(0));
  const int n_thread = static_cast<int>(state.range(1));
  const Matrix qkv(3 * config.d_model, n_token, arma::fill::randn);
  Matrix z(config.d_model, n_token, arma::fill::zeros);
  Matrix scores(n_token, 64 * static_cast<Index>(n_thread), arma::fill::zeros);
  Cube pattern;
  const ComputeContext context;
  if (keep_patterns) pattern.zeros(n_token, n_token, config.n_head);
  compare_with_sgemm(
      state, n_thread, attention_flops(n_token, config.d_model),
      [&] {
        headscope::causal_attention(qkv, config.n_head, config.score_scale(0), z,
                                    keep_patterns ? &pattern : nullptr, context);
      },
      [&] { attention_products(qkv, config.n_head, z, scores); });
}

void lengths_and_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "threads"})
      ->ArgsProduct({{128, 1024}, {1, 2}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.3);
}

BENCHMARK_CAPTURE(causal_attention, fused, false)->Apply(lengths_and_threads);
BENCHMARK_CAPTURE(causal_attention, patterns_kept, true)->Apply(lengths_and_threads);

}  // namespace
}  // namespace headscope::bench
