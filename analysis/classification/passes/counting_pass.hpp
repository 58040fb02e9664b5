#pragma once

#include "corpus_pass.hpp"
#include "headscope/forward.hpp"

namespace headscope {

/// The first pass: counts tokens, and sums the patterns of the first positions.
class CountingPass : public CorpusPass {
 public:
  CountingPass(const Model& model, const ComputeContext& compute)
      : config_(model.config), forward_(model, compute) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;
  /// Bytes of its sums.
  static std::uint64_t bytes(const ModelConfig& config);

 private:
  void add_first_patterns(const Piece& piece, DocumentStatistics& statistics);

  const ModelConfig& config_;
  Forward forward_;
};

}  // namespace headscope
