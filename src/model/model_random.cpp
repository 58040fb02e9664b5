#include <algorithm>
#include <cmath>
#include <numbers>

#include "headscope/model.hpp"
#include "headscope/parameters.hpp"
#include "headscope/random.hpp"

namespace headscope {
namespace {

constexpr double initial_deviation = 0.02;

// std::normal_distribution may differ from one standard library to another. Box & Muller 1958.
double normal(const CounterRandom& random, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform(2 * counter)));
  return radius * std::cos(2 * std::numbers::pi * random.uniform(2 * counter + 1));
}

void fill_normal(std::span<float> values, double deviation, const CounterRandom& random) {
  const auto n = static_cast<std::ptrdiff_t>(values.size());
#pragma omp parallel for
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto counter = static_cast<std::uint64_t>(i);
    values[counter] = static_cast<float>(deviation * normal(random, counter));
  }
}

bool writes_to_residual_stream(const TensorSpec& spec) {
  return spec.name.find("c_proj") != std::string_view::npos;
}

}  // namespace

Model random_model(const ModelConfig& config, std::uint64_t seed) {
  config.check();
  Model model;
  model.config = config;
  model.layers.resize(config.n_layer);
  const double residual_deviation =
      initial_deviation / std::sqrt(2 * static_cast<double>(config.n_layer));
  std::uint64_t stream = 0;
  for_each_tensor(config.n_layer, [&](const TensorSpec& spec, Index layer) {
    const bool is_matrix = spec.axes.size() == 2;
    if (spec.presence == Presence::optional && (!is_matrix || config.tied_unembedding)) return;
    allocate_tensor(model, spec, layer);
    const std::span<float> values = tensor_values(model, spec, layer);
    if (is_matrix) {
      fill_normal(values, writes_to_residual_stream(spec) ? residual_deviation : initial_deviation,
                  CounterRandom(seed, stream));
    } else {
      std::ranges::fill(values, spec.name.ends_with(".weight") ? 1.F : 0.F);
    }
    ++stream;
  });
  return model;
}

}  // namespace headscope
