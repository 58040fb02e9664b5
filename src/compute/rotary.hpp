#pragma once

#include <span>

#include "compute/product/scratch.hpp"
#include "headscope/blas.hpp"
#include "headscope/config.hpp"
#include "headscope/sequence_batch.hpp"

namespace headscope {

enum class Turn { forward, back };

/// Turns queries or keys by their positions, in place; leaves a model without rotary positions
/// alone. With d = d_rotary(), dimension i of each head turns with dimension i + d / 2:
///
///   x_i        <- x_i cos a - x_(i + d/2) sin a
///   x_(i+d/2)  <- x_(i + d/2) cos a + x_i sin a,       a = position rate_i
///
/// Turning is linear, so differences turn like values; gradients turn back.
///
/// @param rows       (number of heads d_head) x (n_column n_copy): heads one below the other,
///                   copies of a batch side by side.
/// @param sequences  of the batch.
/// @param scratch    keeps the table of sines and cosines.
/// Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
void turn(const ModelConfig& config, std::span<const SequenceBatch::Sequence> sequences,
          Turn direction, blas::View rows, Scratch& scratch);

/// Bytes of the table for sequences of at most n_token tokens.
std::uint64_t turn_bytes(const ModelConfig& config, Index n_token);

}  // namespace headscope
