#include "model/stored_tensor.hpp"

#include <algorithm>
#include <numeric>

#include "model/architecture/architecture.hpp"

namespace headscope {
namespace {

bool holds_heads(Axis axis) {
  using enum Axis;
  return axis == d_z || axis == d_qkv || axis == d_q || axis == d_k || axis == d_v ||
         axis == d_qkv_by_head;
}

// The first rows of heads or groups that a file holds along an axis, ascending in the file.
std::vector<Index> kept_rows(Axis axis, const ModelConfig& config, Index layer) {
  const std::vector<Index> heads = config.heads_left_in(layer);
  std::vector<Index> rows;
  // Heads of a group share rows of keys and values.
  const auto add = [&](auto first_row) {
    for (const Index head : heads) {
      const Index row = (config.*first_row)(head);
      if (rows.empty() || rows.back() != row) rows.push_back(row);
    }
  };
  using enum Axis;
  if (axis == d_qkv_by_head) {
    for (const Index head : heads) {
      rows.insert(rows.end(), {config.q_row(head), config.k_row(head), config.v_row(head)});
    }
    return rows;
  }
  if (axis == d_z || axis == d_q || axis == d_qkv) add(&ModelConfig::q_row);
  if (axis == d_k || axis == d_qkv) add(&ModelConfig::k_row);
  if (axis == d_v || axis == d_qkv) add(&ModelConfig::v_row);
  return rows;
}

// The places in memory of what a file holds along an axis.
std::vector<std::size_t> stored_places(Axis axis, const ModelConfig& config, Index layer) {
  if (!holds_heads(axis)) {
    std::vector<std::size_t> places(axis_extent(axis, config));
    std::iota(places.begin(), places.end(), axis == Axis::d_up ? config.d_mlp : 0);
    return places;
  }
  std::vector<std::size_t> places;
  for (const Index row : kept_rows(axis, config, layer)) {
    for (Index i = 0; i < config.d_head(); ++i) places.push_back(row + i);
  }
  return places;
}

// Calls action(place in the file, place in memory) for every element that the file holds.
template <typename Action>
void for_each_stored(const TensorSpec& spec, const ModelConfig& config, Index layer,
                     const Action& action) {
  const bool is_vector = spec.axes.size() == 1;
  const auto rows =
      is_vector ? std::vector<std::size_t>{0} : stored_places(spec.axes.front(), config, layer);
  const auto columns = stored_places(spec.axes.back(), config, layer);
  const bool reversed = is_vector || file_order(spec, config) == FileOrder::reversed_axes;
  const std::size_t row_step = reversed ? memory_extent(spec.axes.back(), config) : 1;
  const std::size_t column_step = reversed ? 1 : memory_extent(spec.axes.front(), config);
#pragma omp parallel for
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      action(row * columns.size() + column, rows[row] * row_step + columns[column] * column_step);
    }
  }
}

}  // namespace

std::size_t stored_extent(Axis axis, const ModelConfig& config, Index layer) {
  if (!holds_heads(axis)) return axis_extent(axis, config);
  return kept_rows(axis, config, layer).size() * config.d_head();
}

std::size_t memory_extent(Axis axis, const ModelConfig& config) {
  using enum Axis;
  if (axis == d_gate || axis == d_up) return config.d_in();
  return holds_heads(axis) && axis != d_z ? config.d_qkv() : axis_extent(axis, config);
}

FileOrder file_order(const TensorSpec& spec, const ModelConfig& config) {
  const bool linear = architecture_of(config).linear && spec.per_layer() && spec.axes.size() == 2;
  return linear ? FileOrder::rows : FileOrder::reversed_axes;
}

bool is_as_in_memory(const TensorSpec& spec, const ModelConfig& config, Index layer) {
  if (file_order(spec, config) == FileOrder::rows) return false;
  return std::ranges::all_of(spec.axes, [&](Axis axis) {
    return axis != Axis::d_qkv_by_head &&
           stored_extent(axis, config, layer) == memory_extent(axis, config);
  });
}

void spread_stored(std::span<const float> stored, const TensorSpec& spec, const ModelConfig& config,
                   Index layer, std::span<float> values) {
  for_each_stored(spec, config, layer,
                  [&](std::size_t from, std::size_t to) { values[to] = stored[from]; });
}

std::vector<float> gather_stored(std::span<const float> values, const TensorSpec& spec,
                                 const ModelConfig& config, Index layer) {
  std::vector<float> stored(element_count(spec.stored_shape(config, layer)));
  for_each_stored(spec, config, layer,
                  [&](std::size_t to, std::size_t from) { stored[to] = values[from]; });
  return stored;
}

}  // namespace headscope
