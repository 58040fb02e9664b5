#pragma once

#include <memory>
#include <set>
#include <vector>

#include "corpus_pass.hpp"
#include "headscope/ablation.hpp"
#include "headscope/direct_effect.hpp"
#include "headscope/resampling.hpp"

namespace headscope {

/// What the passes of `pruning` have in common.
struct PruningInput {
  const Model& model;
  const Corpus& corpus;
  const AnalysisSettings& settings;
  const ComputeContext& compute;
  HeadAblation& ablation;
  const std::set<Index>& sample;   ///< documents whose gradients are taken
  const std::set<Index>& ablated;  ///< of the sample, the documents whose heads are ablated

  /// Whether gradients are taken of the piece.
  bool samples(const Piece& piece) const {
    return piece.tokens.size() > 1 && sample.contains(piece.document);
  }
  /// Which block of documents the piece belongs to.
  std::size_t block_of(const Piece& piece) const {
    return document_block(piece.document, corpus.n_document());
  }
};

/// The first pass: sums z of the sample over the positions after 0, for its mean.
std::unique_ptr<CorpusPass> averaging_pass(const PruningInput& input);

/// The second pass: takes the gradient of the sample and, on a part of it, ablates every head and
/// takes the direct effects.
/// @param earlier  the sums of the first pass.
std::unique_ptr<CorpusPass> ablating_pass(const PruningInput& input,
                                          const LogitAttribution& attribution,
                                          const Statistics& earlier);

/// The distinct masks of all orders and steps of the pruning curves.
struct CurveMasks {
  struct Point {
    std::size_t order, step;
  };
  std::vector<HeadMask> masks;
  std::vector<std::vector<Point>> users;  ///< the orders and steps of each mask
};

/// @param earlier  the sums of the first two passes.
CurveMasks curve_masks(const Statistics& earlier, const ModelConfig& config, std::uint64_t seed);

/// The third pass: takes the loss of all documents and prunes the ablated ones in the orders found
/// by the second. @param curves  outlive it.
std::unique_ptr<CorpusPass> curve_pass(const PruningInput& input, const CurveMasks& curves);

}  // namespace headscope
