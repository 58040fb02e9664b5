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
// compute at once, as in a layer, since they may share caches and units of the processor.
class Trial {
 public:
  explicit Trial(const ModelConfig& config)
      : d_model_(std::min(config.d_model, most_weights)),
        d_mlp_(std::min(config.d_mlp, most_weights)),
        // As wide as the products of all ablated heads of a layer.
        n_column_(std::min(config.n_head * config.n_ctx, most_columns)),
        n_tried_(std::min(n_column_, columns_per_thread * Index(blas::thread_count()))),
        weights_(scattered(d_model_, d_mlp_)),
        narrow_(scattered(d_model_, n_tried_)),
        wide_(d_mlp_ * n_tried_),
        back_(d_model_ * n_tried_) {
    scratch_.make_room();
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
  static constexpr Index most_weights = 1024, most_columns = 2048, columns_per_thread = 256;

  struct Tried {
    Engine engine;
    std::vector<double> seconds;  // by round
  };

  void round() {
    for (Tried& engine : tried_) {
      const Products products = Products(engine.engine, scratch_).for_columns(n_column_);
      const blas::ConstView W{weights_.data(), d_mlp_, d_model_, d_mlp_};
      const blas::ConstView narrow{narrow_.data(), d_model_, n_tried_, d_model_};
      const blas::View wide{wide_.data(), d_mlp_, n_tried_, d_mlp_},
          back{back_.data(), d_model_, n_tried_, d_model_};
      engine.seconds.push_back(multiply(W, blas::Transpose::no, narrow, wide, products) +
                               multiply(W, blas::Transpose::yes, wide, back, products));
    }
  }

  // Y = W X for `n_tried_` columns. Returns the seconds that the threads would take together for
  // `n_column_`, whose weights are packed once too. The seconds in which a thread waits for others,
  // which are processor time, do not count.
  double multiply(blas::ConstView W, blas::Transpose transpose, blas::ConstView X, blas::View Y,
                  const Products& products) {
    const auto n_thread = static_cast<Index>(blas::thread_count());
    const Index block = (X.n_col + n_thread - 1) / n_thread;
    double packing = 0, sum = 0;
    ThreadErrors errors;
    const auto time = [&](const auto& work) {
      const double begin = thread_seconds();
      errors.run(work);
      return thread_seconds() - begin;
    };
#pragma omp parallel reduction(+ : packing, sum)
    {
#pragma omp single
      packing = time([&] { product_.set(W, transpose, products); });
#pragma omp for schedule(static)
      for (Index first = 0; first < X.n_col; first += block) {
        sum += time([&] {
          const Index count = std::min(block, X.n_col - first);
          auto& columns = scratch_.of_thread<PackedColumns>();
          columns.set(X.cols(first, count), products);
          product_.multiply_serial(columns, 0, Y.cols(first, count));
        });
      }
    }
    errors.rethrow();
    return packing + sum * static_cast<double>(n_column_) / static_cast<double>(n_tried_);
  }

  static double median_ratio(const std::vector<double>& dividends,
                             const std::vector<double>& divisors) {
    std::vector<double> ratios(dividends.size());
    std::ranges::transform(dividends, divisors, ratios.begin(), std::divides());
    const auto middle = ratios.begin() + ratios.size() / 2;
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

  Index d_model_, d_mlp_, n_column_, n_tried_;
  std::vector<float> weights_, narrow_, wide_, back_;
  Scratch scratch_;
  WeightProduct product_;
  std::vector<Tried> tried_;
};

}  // namespace

EngineSpeeds try_engines(const ModelConfig& config) {
  return Trial(config).speeds();
}

}  // namespace headscope
