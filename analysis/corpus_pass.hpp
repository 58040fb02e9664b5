#pragma once

#include <functional>
#include <memory>

#include "headscope/analysis.hpp"

namespace headscope {

/// What an analysis does with each piece in one of its passes over the corpus, as
/// CorpusAnalysis::begin_piece. It is made when the pass begins.
using CorpusPass =
    std::function<std::unique_ptr<PieceObserver>(const Piece& piece, DocumentStatistics&)>;

}  // namespace headscope
