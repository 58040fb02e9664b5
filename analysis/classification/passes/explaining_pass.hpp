#pragma once

#include <set>
#include <vector>

#include "classification/explained/explained.hpp"
#include "corpus_pass.hpp"

namespace headscope {

/// The third and the fourth pass, on a sample of documents: those of Explanation.
class ExplainingPass : public CorpusPass {
 public:
  enum class Part { means, losses };

  /// @param documents  the sample.
  /// @param earlier    the sums of the passes before.
  ExplainingPass(Part part, Explanation& explanation, const std::set<Index>& documents,
                 const Corpus& corpus, const Statistics& earlier)
      : part_(part),
        explanation_(explanation),
        documents_(documents),
        corpus_(corpus),
        token_counts_(earlier.total("token_count").values) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

 private:
  const Part part_;
  Explanation& explanation_;
  const std::set<Index>& documents_;
  const Corpus& corpus_;
  const std::vector<double> token_counts_;
};

}  // namespace headscope
