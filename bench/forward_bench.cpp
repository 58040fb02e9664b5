#include <memory>

#include "gpt2_small.hpp"
#include "headscope/ablation.hpp"
#include "headscope/gradient.hpp"
#include "side_by_side.hpp"

namespace headscope::bench {
namespace {

const Model& model() {
  static const Model random = random_model(gpt2_small(), 1);
  return random;
}

TokenIds document(Index n_token) {
  TokenIds tokens(n_token);
  std::uint64_t state = 1;
  for (TokenId& token : tokens) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    token = static_cast<TokenId>((state >> 33U) % gpt2_small().d_vocab);
  }
  return tokens;
}

class WantsPatterns : public LayerObserver {
 public:
  bool wants_pattern(Index) const override { return true; }
  void observe_layer(const LayerView& view) override {
    benchmark::DoNotOptimize(view.pattern.memptr());
  }
};

// Every matrix product of a forward pass with loss, into preallocated buffers.
class Products {
 public:
  explicit Products(Index n_token)
      : config_(gpt2_small()),
        resid_(config_.d_model, n_token, arma::fill::randn),
        qkv_(3 * config_.d_model, n_token, arma::fill::randn),
        z_(config_.d_model, n_token, arma::fill::zeros),
        scores_(n_token, 64 * static_cast<Index>(omp_get_num_procs()), arma::fill::zeros),
        hidden_(config_.d_mlp, n_token, arma::fill::zeros),
        logits_(chunk, n_token, arma::fill::zeros) {}

  void run() {
    for (const LayerWeights& layer : model().layers) {
      blas::multiply(layer.W_QKV, resid_, qkv_);
      attention_products(qkv_, config_.n_head, z_, scores_);
      blas::multiply(layer.W_O, z_, resid_);
      blas::multiply(layer.W_in, resid_, hidden_);
      blas::multiply(layer.W_out, hidden_, resid_);
    }
    for (Index first = 0; first < config_.d_vocab; first += chunk) {
      const Index count = std::min(chunk, config_.d_vocab - first);
      blas::multiply(blas::ConstView(model().unembedding()).cols(first, count),
                     blas::Transpose::yes, resid_, blas::Transpose::no,
                     blas::View(logits_).rows(0, count));
    }
  }

  double flops() const {
    const auto d = static_cast<double>(config_.d_model), mlp = static_cast<double>(config_.d_mlp);
    const double layer = 2 * static_cast<double>(resid_.n_cols) * (4 * d * d + 2 * d * mlp) +
                         attention_flops(resid_.n_cols, config_.d_model);
    return 12 * layer +
           2 * static_cast<double>(resid_.n_cols) * d * static_cast<double>(config_.d_vocab);
  }

 private:
  static constexpr Index chunk = 2048;
  ModelConfig config_;
  Matrix resid_, qkv_, z_, scores_, hidden_, logits_;
};

void forward_and_loss(benchmark::State& state, bool with_patterns) {
  const TokenIds tokens = document(static_cast<Index>(state.range(0)));
  Forward forward(model());
  WantsPatterns observer;
  std::vector<LayerObserver*> observers;
  if (with_patterns) observers.push_back(&observer);
  Products products(tokens.size());
  compare_with_sgemm(
      state, static_cast<int>(state.range(1)), products.flops(),
      [&] { benchmark::DoNotOptimize(forward.loss(forward.run(tokens, observers), tokens)); },
      [&] { products.run(); });
}

// Compared with the products of the forward pass alone.
void head_gradient(benchmark::State& state) {
  const TokenIds tokens = document(static_cast<Index>(state.range(0)));
  const ComputeContext context;
  Forward forward(model(), context);
  HeadAblation clean(model(), context);
  HeadGradient gradient(model(), context);
  Products products(tokens.size());
  compare_with_sgemm(
      state, static_cast<int>(state.range(1)), products.flops(),
      [&] {
        forward.run(tokens, {&clean});
        gradient.run(clean.activations(), tokens, [](const LayerGradient& layer) {
          benchmark::DoNotOptimize(layer.dz.memptr());
        });
      },
      [&] { products.run(); });
}

void lengths_and_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "threads"})
      ->ArgsProduct({{128, 1024}, {1, 2}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(5);
}

BENCHMARK_CAPTURE(forward_and_loss, no_patterns, false)->Apply(lengths_and_threads);
BENCHMARK_CAPTURE(forward_and_loss, patterns, true)->Apply(lengths_and_threads);
BENCHMARK(head_gradient)->Apply(lengths_and_threads);

}  // namespace
}  // namespace headscope::bench
