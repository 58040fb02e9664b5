#pragma once

#include <span>
#include <vector>

#include "headscope/parameters.hpp"

/// Where the values of a file's tensor lie in memory. Model files leave out the rows and columns of
/// pruned heads; models in memory hold zeros there. Files may hold a member's parts apart, by head,
/// or with axes reversed.
namespace headscope {

/// The extent of an axis in a file: without the layer's pruned heads.
std::size_t stored_extent(Axis axis, const ModelConfig& config, Index layer);

/// A file may split an axis that memory keeps as one: the extent of the axis in memory.
std::size_t memory_extent(Axis axis, const ModelConfig& config);

/// Which way round a file holds matrices.
enum class FileOrder {
  reversed_axes,  ///< in x out, row-major: the bytes of a Matrix
  rows,           ///< out x in, row-major
};
/// How files of the architecture hold a tensor.
FileOrder file_order(const TensorSpec& spec, const ModelConfig& config);

/// Whether file and member hold the same values in one order.
bool is_as_in_memory(const TensorSpec& spec, const ModelConfig& config, Index layer);

/// Copies a tensor's stored values to their places in the member. Sets nothing else.
/// @param stored  row-major, spec.stored_shape(config, layer).
/// @param values  of the member, tensor_values.
void spread_stored(std::span<const float> stored, const TensorSpec& spec, const ModelConfig& config,
                   Index layer, std::span<float> values);

/// The inverse of spread_stored.
std::vector<float> gather_stored(std::span<const float> values, const TensorSpec& spec,
                                 const ModelConfig& config, Index layer);

}  // namespace headscope
