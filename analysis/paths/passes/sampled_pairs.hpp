#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headscope/circuit.hpp"
#include "headscope/resampling.hpp"
#include "paths/passes/paths_input.hpp"

namespace headscope {

/// Pairs of a task that are ablated exactly and that circuits are run on.
struct SampledPairs {
  Task task;                        ///< of these pairs alone
  std::vector<std::size_t> number;  ///< of each pair in the task it is from
  std::size_t n_pair = 0;           ///< of the task they are from

  /// The block of documents that the pair belongs to.
  std::size_t block_of(std::size_t pair) const { return document_block(number[pair], n_pair); }
  /// Tokens of their sequences.
  std::uint64_t n_token() const;
};

/// Those among a batch's pairs.
SampledPairs sampled_pairs(const PathsInput& input, const PairBatch& batch);
/// Those among a task's pairs, every other one. @param parity  0: from the first on; 1: the others.
SampledPairs half_of_pairs(const PathsInput& input, std::size_t task, std::size_t parity);

/// Share of a batch's pairs that are sampled.
double sampled_share(const PathsInput& input, const PairBatch& batch);

/// Margins by pair, nats, from the losses that `run` returns for some of the pairs at a time.
/// @param most_columns  of the sequences that `run` gets, if they are of more than one pair.
std::vector<double> margins_by_pair(
    const SampledPairs& pairs, Index most_columns,
    const std::function<TokenLoss(const SequenceBatch& sequences)>& run);

/// Margins by pair where only the edges of a circuit are kept, nats.
/// @param kept  by EdgeGraph::edge, 1 for the edges that are kept.
std::vector<double> circuit_margins(CircuitForward& circuit, const ModelConfig& config,
                                    const SampledPairs& pairs, const Matrix& replacement,
                                    std::span<const unsigned char> kept);

}  // namespace headscope
