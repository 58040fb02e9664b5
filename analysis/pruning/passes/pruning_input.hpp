#pragma once

#include <set>

#include "headscope/ablation.hpp"
#include "headscope/analysis.hpp"
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

}  // namespace headscope
