#pragma once

#include <optional>
#include <vector>

#include "classification/passes/piece_scores.hpp"
#include "corpus_pass.hpp"

namespace headscope {

/// The second pass: scores every head on every piece.
class ScoringPass : public CorpusPass {
 public:
  /// @param earlier  the sums of the first pass.
  ScoringPass(const HeadTypeList& types, const AnalysisContext& context,
              const LogitAttribution& attribution, const Statistics& earlier);
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;
  /// Bytes that it and its statistics hold. @param n_type  types that examples are shown of.
  static std::uint64_t bytes(const RunShape& run, std::size_t n_type);

 private:
  /// Makes counts_ that of the document's earlier pieces; runs these again if a run was resumed
  /// between pieces.
  void count_earlier_pieces(const Piece& piece);

  const Corpus& corpus_;
  const ComputeContext compute_;
  const LogitLens lens_;
  const std::vector<double> token_counts_;
  const std::vector<arma::mat> mean_first_;
  const ScoringInput input_;
  DocumentCounts counts_;
  std::optional<std::uint64_t> counted_document_;
};

}  // namespace headscope
