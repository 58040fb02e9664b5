#pragma once

#include <memory>

#include "headscope/analysis.hpp"

namespace headscope {

/// What an analysis does with each piece in one of its passes over the corpus. It is made when the
/// pass begins.
class CorpusPass {
 public:
  CorpusPass() = default;
  CorpusPass(const CorpusPass&) = delete;
  CorpusPass& operator=(const CorpusPass&) = delete;
  virtual ~CorpusPass() = default;
  /// As CorpusAnalysis::begin_piece.
  virtual std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                                     DocumentStatistics& statistics) = 0;
};

}  // namespace headscope
