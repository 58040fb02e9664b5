#include <algorithm>
#include <cmath>
#include <numbers>

#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "headscope/prune.hpp"
#include "headscope/random.hpp"
#include "model/architecture/architecture.hpp"
#include "model/stored_tensor.hpp"

namespace headscope {
namespace {

// std::normal_distribution may differ from one standard library to another. Box & Muller 1958.
double normal(const CounterRandom& random, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform(2 * counter)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform(2 * counter + 1));
}

void fill_normal(std::span<float> values, double deviation, const CounterRandom& random) {
#pragma omp parallel for
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(deviation * normal(random, i));
  }
}

bool writes_to_residual_stream(const TensorSpec& spec) {
  using Held = Matrix LayerWeights::*;
  const auto* const member = std::get_if<Held>(&spec.member);
  return member != nullptr && (*member == &LayerWeights::W_O || *member == &LayerWeights::W_out);
}

}  // namespace

Model random_model(const ModelConfig& config, std::uint64_t seed) {
  config.check();
  const Architecture& architecture = architecture_of(config);
  Model model;
  model.config = config;
  model.config.pruned_heads.clear();
  model.layers.resize(config.n_layer);
  const double deviation = config.initial_deviation;
  const double residual_deviation =
      architecture.scaled_residual ? deviation / std::sqrt(2 * static_cast<double>(config.n_layer))
                                   : deviation;
  std::uint64_t stream = 0;
  for_each_tensor(config, [&](const TensorSpec& spec, Index layer) {
    const bool is_matrix = spec.axes.size() == 2;
    if (spec.presence == Presence::optional && (!is_matrix || config.tied_unembedding)) return;
    allocate_tensor(model, spec, layer);
    const auto fill = [&](std::span<float> values) {
      if (is_matrix) {
        fill_normal(values, writes_to_residual_stream(spec) ? residual_deviation : deviation,
                    CounterRandom(seed, stream));
      } else {
        std::ranges::fill(values, spec.name.ends_with(".weight") ? 1.F : 0.F);
      }
    };
    const std::span<float> held = tensor_values(model, spec, layer);
    if (is_as_in_memory(spec, model.config, layer)) {
      fill(held);
    } else {
      std::vector<float> values(element_count(spec.shape(config)));
      fill(values);
      spread_stored(values, spec, model.config, layer, held);
    }
    ++stream;
  });
  prune_heads(model, config.pruned_heads, PruneMode::remove);
  return model;
}

}  // namespace headscope
