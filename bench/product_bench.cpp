#include <cblas.h>

#include "compute/product/weight_product.hpp"
#include "side_by_side.hpp"

namespace headscope::bench {
namespace {

// An engine's product of weights that are packed before with activations that are packed in it, as
// in ablations, against one cblas_sgemm call on OpenBLAS's own threads.
void product(benchmark::State& state, Index n_row, Index n_inner, Engine engine, int n_thread) {
  constexpr Index n_column = 4096;
  const Matrix W(n_row, n_inner, arma::fill::randn), X(n_inner, n_column, arma::fill::randn);
  Matrix Y(n_row, n_column, arma::fill::zeros);
  Scratch scratch;
  blas::set_thread_count(n_thread);
  scratch.make_room();
  WeightProduct weights;
  weights.set(W, blas::Transpose::no, Products(engine, scratch));
  const auto rows = static_cast<blasint>(n_row), inner = static_cast<blasint>(n_inner),
             columns = static_cast<blasint>(n_column);
  const double flops = 2.0 * static_cast<double>(n_row) * static_cast<double>(n_inner) *
                       static_cast<double>(n_column);
  compare_with_sgemm(
      state, n_thread, flops, [&] { weights.multiply(X, Y); },
      [&] {
        openblas_set_num_threads(n_thread);
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1, W.memptr(),
                    rows, X.memptr(), inner, 0, Y.memptr(), rows);
        openblas_set_num_threads(1);
      });
}

struct Shape {
  const char* name;
  Index n_row, n_inner;
};

// Of GPT-2 small.
constexpr Shape shapes[] = {{"qkv", 2304, 768},
                            {"attention_output", 768, 768},
                            {"mlp_in", 3072, 768},
                            {"mlp_out", 768, 3072}};

// Engines are listed by the library, so that a new one is measured too.
const bool registered = [] {
  for (const EngineEntry& entry : engines()) {
    for (const Shape& shape : shapes) {
      for (const int n_thread : {1, 2}) {
        std::string name = "product/" + std::string(entry.name) + "/" + shape.name +
                           "/threads:" + std::to_string(n_thread);
        std::erase(name, ' ');
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=, engine = entry.engine](auto& state) {
                                       product(state, shape.n_row, shape.n_inner, engine, n_thread);
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond)
            ->MinTime(0.3);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace headscope::bench
