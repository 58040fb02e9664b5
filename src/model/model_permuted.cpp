#include <numeric>
#include <utility>
#include <vector>

#include "headscope/model.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

using Places = std::vector<Index>;

Places range(Index first, Index count) {
  Places places(count);
  std::iota(places.begin(), places.end(), first);
  return places;
}

/// Exchanges the entries of some rows and columns at random. Source: Fisher & Yates 1938.
void permute_entries(Matrix& W, const Places& rows, const Places& columns,
                     const CounterRandom& random) {
  const auto entry = [&](Index i) -> float& {
    return W(rows[i % rows.size()], columns[i / rows.size()]);
  };
  for (Index i = rows.size() * columns.size(); i > 1; --i) {
    std::swap(entry(i - 1), entry(random.below(i, i)));
  }
}

/// The rows of a layer's heads that are not pruned.
/// @param first_row  that of a head.
Places rows_of_heads(const ModelConfig& config, Index layer,
                     Index (ModelConfig::*first_row)(Index) const) {
  Places rows;
  for (const Index head : config.heads_left_in(layer)) {
    const Index first = (config.*first_row)(head);
    // Heads of a group share rows.
    if (!rows.empty() && rows.back() >= first) continue;
    const Places of_head = range(first, config.d_head());
    rows.insert(rows.end(), of_head.begin(), of_head.end());
  }
  return rows;
}

}  // namespace

Model permuted_model(const Model& model, std::uint64_t seed) {
  const ModelConfig& config = model.config;
  Model permuted = model;
  std::uint64_t stream = 0;
  for (Index l = 0; l < config.n_layer; ++l) {
    LayerWeights& layer = permuted.layers[l];
    const auto permute = [&](Matrix& W, const Places& rows, const Places& columns) {
      permute_entries(W, rows, columns, CounterRandom(seed, stream++));
    };
    const Places d_model = range(0, config.d_model),
                 queries = rows_of_heads(config, l, &ModelConfig::q_row);
    permute(layer.W_QKV, queries, d_model);
    permute(layer.W_QKV, rows_of_heads(config, l, &ModelConfig::k_row), d_model);
    permute(layer.W_QKV, rows_of_heads(config, l, &ModelConfig::v_row), d_model);
    permute(layer.W_O, d_model, queries);
    for (Index row = 0; row < layer.W_in.n_rows; row += config.d_mlp) {
      permute(layer.W_in, range(row, config.d_mlp), d_model);
    }
    permute(layer.W_out, range(0, layer.W_out.n_rows), range(0, layer.W_out.n_cols));
  }
  return permuted;
}

}  // namespace headscope
