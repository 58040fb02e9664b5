#include <utility>

#include "headscope/model.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

/// Exchanges the entries of consecutive rows at random. Source: Fisher & Yates 1938.
void permute_rows(Matrix& W, Index first_row, Index n_row, const CounterRandom& random) {
  const auto entry = [&](Index i) -> float& { return W(first_row + i % n_row, i / n_row); };
  for (Index i = n_row * W.n_cols; i > 1; --i) {
    std::swap(entry(i - 1), entry(random.below(i, i)));
  }
}

}  // namespace

Model permuted_model(const Model& model, std::uint64_t seed) {
  const ModelConfig& config = model.config;
  Model permuted = model;
  std::uint64_t stream = 0;
  for (LayerWeights& layer : permuted.layers) {
    const auto permute = [&](Matrix& W, Index first_row, Index n_row) {
      permute_rows(W, first_row, n_row, CounterRandom(seed, stream++));
    };
    permute(layer.W_QKV, 0, config.d_z());
    permute(layer.W_QKV, config.d_z(), config.d_kv());
    permute(layer.W_QKV, config.d_z() + config.d_kv(), config.d_kv());
    permute(layer.W_O, 0, layer.W_O.n_rows);
    for (Index row = 0; row < layer.W_in.n_rows; row += config.d_mlp) {
      permute(layer.W_in, row, config.d_mlp);
    }
    permute(layer.W_out, 0, layer.W_out.n_rows);
  }
  return permuted;
}

}  // namespace headscope
