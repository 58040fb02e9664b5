#include "model/pruned_heads.hpp"

#include <algorithm>

namespace headscope {
namespace {

bool holds_heads(Axis axis) {
  return axis == Axis::d_z || axis == Axis::d_qkv;
}

// The indices along an axis that a file holds, ascending.
std::vector<std::size_t> stored_places(Axis axis, const ModelConfig& config, Index layer) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < axis_extent(axis, config); ++place) {
    const HeadIndex head{layer, place % config.d_model / config.d_head()};
    const auto& pruned = config.pruned_heads;
    if (holds_heads(axis) && std::binary_search(pruned.begin(), pruned.end(), head)) continue;
    places.push_back(place);
  }
  return places;
}

// Calls action(place in the file, place in memory) for every element that the file holds.
template <typename Action>
void for_each_stored(const TensorSpec& spec, const ModelConfig& config, Index layer,
                     Action action) {
  const bool is_vector = spec.axes.size() == 1;
  const auto rows =
      is_vector ? std::vector<std::size_t>{0} : stored_places(spec.axes.front(), config, layer);
  const auto columns = stored_places(spec.axes.back(), config, layer);
  const std::size_t n_column = axis_extent(spec.axes.back(), config);
  std::size_t stored = 0;
  for (const std::size_t row : rows) {
    for (const std::size_t column : columns) action(stored++, row * n_column + column);
  }
}

}  // namespace

std::size_t stored_extent(Axis axis, const ModelConfig& config, Index layer) {
  const std::size_t extent = axis_extent(axis, config);
  if (!holds_heads(axis)) return extent;
  const auto& pruned = config.pruned_heads;
  const auto n_pruned = static_cast<Index>(std::count_if(
      pruned.begin(), pruned.end(), [&](HeadIndex head) { return head.layer == layer; }));
  return extent / config.n_head * (config.n_head - n_pruned);
}

void spread_stored(std::span<const float> stored, const TensorSpec& spec, const ModelConfig& config,
                   Index layer, std::span<float> values) {
  std::fill(values.begin(), values.end(), 0.0F);
  for_each_stored(spec, config, layer,
                  [&](std::size_t from, std::size_t to) { values[to] = stored[from]; });
}

std::vector<float> gather_stored(std::span<const float> values, const TensorSpec& spec,
                                 const ModelConfig& config, Index layer) {
  std::vector<float> stored;
  for_each_stored(spec, config, layer,
                  [&](std::size_t, std::size_t from) { stored.push_back(values[from]); });
  return stored;
}

}  // namespace headscope
