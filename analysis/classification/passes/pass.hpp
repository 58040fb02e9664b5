#pragma once

#include <memory>

#include "headscope/analysis.hpp"

namespace headscope {

/// What one pass over the corpus does with each piece. It is made when the pass begins.
class ClassificationPass {
 public:
  ClassificationPass() = default;
  ClassificationPass(const ClassificationPass&) = delete;
  ClassificationPass& operator=(const ClassificationPass&) = delete;
  virtual ~ClassificationPass() = default;
  /// As CorpusAnalysis::begin_piece.
  virtual std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                                     DocumentStatistics& statistics) = 0;
};

}  // namespace headscope
