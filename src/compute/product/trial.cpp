#include <omp.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/processor_seconds.hpp"
#include "base/thread_errors.hpp"
#include "compute/product/weight_product.hpp"
#include "headscope/precision.hpp"

namespace headscope {
namespace {

// Numbers between -1 and 1 in no order, the same every time.
std::vector<float> scattered(Index n_row, Index n_col) {
  std::vector<float> values(n_row * n_col);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;  // Knuth, The Art of Computer Programming, 3.3.4
    value = static_cast<float>(state >> 8U) * 0x1p-23F - 1;
  }
  return values;
}

// The products of an MLP, the widest of a layer, by every engine with instructions. All threads
// compute at once, as in a layer, since they may share caches and units of the processor. No thread
// needs the results of another, since a thread that waits takes processor time too.
class Trial {
 public:
  explicit Trial(const ModelConfig& config)
      : d_model_(std::min(config.d_model, most_weights)),
        d_mlp_(std::min(config.d_mlp, most_weights)),
        // As wide as the products of all ablated heads of a layer.
        n_column_(std::min(config.n_head * config.n_ctx, most_columns)),
        weights_(scattered(d_model_, d_mlp_)),
        narrow_(scattered(d_model_, n_column_)) {
    for (const EngineEntry& entry : engines()) {
      if (entry.arithmetic == nullptr || entry.arithmetic->has_instructions()) {
        tried_.push_back({entry.engine, {}});
      }
    }
  }

  EngineSpeeds speeds() {
    if (tried_.size() < 2 || d_mlp_ == 0) return {};
    constexpr int least_rounds = 5, most_rounds = 31;
    constexpr double enough_seconds = 0.04;  // of the processors
    workers_.resize(static_cast<std::size_t>(std::min(omp_get_max_threads(), most_threads)));
    for (Worker& worker : workers_) {
      worker.wide.resize(d_mlp_ * n_column_);
      worker.back.resize(d_model_ * n_column_);
      worker.scratch.make_room();
    }
    round();
    for (Tried& engine : tried_) engine.seconds.clear();  // memory was new
    const double begin = processor_seconds();
    for (int n = 0;
         n < least_rounds || (n < most_rounds && processor_seconds() - begin < enough_seconds);
         ++n) {
      round();
    }
    EngineSpeeds speeds;
    for (std::size_t e = 1; e < tried_.size(); ++e) {
      speeds.push_back({tried_[e].engine, median_ratio(tried_.front().seconds, tried_[e].seconds)});
    }
    return speeds;
  }

 private:
  static constexpr Index most_weights = 1024, most_columns = 1024;
  static constexpr int most_threads = 16;

  struct Tried {
    Engine engine;
    std::vector<double> seconds;  // by round, of all threads
  };

  // A thread's results.
  struct Worker {
    std::vector<float> wide, back;
    Scratch scratch;
  };

  void round() {
    for (Tried& engine : tried_) {
      const auto n_thread = static_cast<int>(workers_.size());
      double sum = 0;
      ThreadErrors errors;
#pragma omp parallel for num_threads(n_thread) schedule(static, 1) reduction(+ : sum)
      for (int t = 0; t < n_thread; ++t) {
        errors.run([&] { sum += seconds_of(engine.engine, workers_[t]); });
      }
      errors.rethrow();
      engine.seconds.push_back(sum);
    }
  }

  double seconds_of(Engine engine, Worker& worker) {
    const Products products(engine, worker.scratch);
    const blas::ConstView W{weights_.data(), d_mlp_, d_model_, d_mlp_};
    const blas::ConstView narrow{narrow_.data(), d_model_, n_column_, d_model_};
    const blas::View wide{worker.wide.data(), d_mlp_, n_column_, d_mlp_},
        back{worker.back.data(), d_model_, n_column_, d_model_};
    const double begin = thread_seconds();
    products.multiply(W, blas::Transpose::no, narrow, wide);
    products.multiply(W, blas::Transpose::yes, wide, back);
    return thread_seconds() - begin;
  }

  static double median_ratio(const std::vector<double>& dividends,
                             const std::vector<double>& divisors) {
    std::vector<double> ratios(dividends.size());
    std::ranges::transform(dividends, divisors, ratios.begin(), std::divides());
    const auto middle = ratios.begin() + ratios.size() / 2;
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

  Index d_model_, d_mlp_, n_column_;
  std::vector<float> weights_, narrow_;
  std::vector<Worker> workers_;
  std::vector<Tried> tried_;
};

}  // namespace

EngineSpeeds try_engines(const ModelConfig& config) {
  return Trial(config).speeds();
}

}  // namespace headscope
