#pragma once

#include <span>
#include <vector>

#include "headscope/parameters.hpp"

/// Model files leave out the rows and columns of pruned heads; models in memory hold zeros there.
namespace headscope {

/// The extent of an axis in a file: without the layer's pruned heads.
std::size_t stored_extent(Axis axis, const ModelConfig& config, Index layer);

/// Puts what a file holds of a tensor in its places; the rest becomes zero.
/// @param stored  row-major, spec.stored_shape(config, layer).
/// @param values  row-major, spec.shape(config).
void spread_stored(std::span<const float> stored, const TensorSpec& spec, const ModelConfig& config,
                   Index layer, std::span<float> values);

/// The inverse of spread_stored.
std::vector<float> gather_stored(std::span<const float> values, const TensorSpec& spec,
                                 const ModelConfig& config, Index layer);

}  // namespace headscope
