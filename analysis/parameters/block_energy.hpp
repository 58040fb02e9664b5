#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headscope/config.hpp"
#include "headscope/results.hpp"
#include "headscope/types.hpp"

namespace headscope {

/// How block-diagonal a projection is over heads, against permutations of its inputs.
struct BlockEnergy {
  double energy;     ///< share of the squared weights in the diagonal blocks; NaN for a zero matrix
  double null_mean;  ///< mean energy over permutations; 1/n_block in expectation
  double null_std;   ///< standard deviation over permutations (n - 1 in the denominator)
  double z;          ///< (energy - null_mean) / null_std; NaN if the null does not vary
  double p;          ///< (1 + permutations at least as block-diagonal) / (1 + permutations)
};

/// Views W as n_block x n_block equal blocks.
///
///   energy = sum of squares in block (i, i) over all i / sum of all squares
///
/// All values are NaN if n_block does not divide rows and columns.
/// @param W       out x in.
/// @param n_block  heads, or groups of heads that share keys and values.
/// @param n_null  number of permutations of the inputs; with 0 the null is NaN.
/// @param stream  random stream of the seed; a different one for each matrix.
BlockEnergy block_energy(const Matrix& W, Index n_block, std::size_t n_null, std::uint64_t seed,
                         std::uint64_t stream);

/// Whether a projection (of q, k, v, o) is of keys or values, which groups of heads share.
bool is_shared_by_groups(std::size_t projection);

/// Blocks that a projection (of q, k, v, o) is cut into: heads, or for keys and values the groups
/// of heads that share them.
Index n_block_of(const ModelConfig& config, std::size_t projection);

/// The finite values of a variable by projection and layer, of projections of several blocks: where
/// all heads share keys and values, these are one block, whose energy is 1.
std::vector<double> values_of_several_blocks(const ResultsGroup& group, const char* variable,
                                             const ModelConfig& config);

/// The mean of these values of block_energy if energy were as much as chance gives: 1 / blocks.
double mean_chance_of_several_blocks(const ResultsGroup& group, const ModelConfig& config);

/// Whether queries and outputs can be cut into a block for every head.
bool has_blocks_of_heads(const ModelConfig& config);

/// Of a model whose heads all share keys and values.
inline constexpr const char* one_group_text =
    " Keys and values, which all heads share, are one block and left out.";

/// one_group_text, or which projections cannot be cut into blocks, where some can.
std::string left_out_text(const ModelConfig& config);

}  // namespace headscope
