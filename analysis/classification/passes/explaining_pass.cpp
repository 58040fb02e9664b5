#include "classification/passes/explaining_pass.hpp"

#include "headscope/resampling.hpp"
#include "scores/sums.hpp"

namespace headscope {

std::unique_ptr<PieceObserver> ExplainingPass::begin_piece(const Piece& piece,
                                                           DocumentStatistics& statistics) {
  if (!documents_.contains(piece.document)) return nullptr;
  const Index block = document_block(piece.document, corpus_.n_document());
  if (part_ == Part::losses && corpus_.begins_predictions(piece)) {
    ++statistics.sum(explained_document_count, {n_block})(block);
  }
  if (explanation_.is_empty() || piece.tokens.size() < 2) return nullptr;
  const PlaceSource source = place_source(piece, token_counts_);
  if (part_ == Part::means) return explanation_.add_means(source, statistics);
  return explanation_.add_losses(source, block, statistics);
}

}  // namespace headscope
