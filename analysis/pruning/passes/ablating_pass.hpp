#pragma once

#include <vector>

#include "corpus_pass.hpp"
#include "headscope/direct_effect.hpp"
#include "pruning/passes/donors.hpp"

namespace headscope {

/// What the second pass has besides PruningInput and donors; the same for all pieces.
struct AblationInput : DonorInput {
  const LogitAttribution& attribution;
  std::vector<Vector> mean_z;  ///< per layer, d_z
};

/// The second pass: takes the gradient of the sample and, on a part of it, ablates every head and
/// takes the direct effects.
class AblatingPass : public CorpusPass {
 public:
  /// @param earlier  the sums of the first pass.
  AblatingPass(const PruningInput& input, const LogitAttribution& attribution,
               const Statistics& earlier);
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

 private:
  const AblationInput input_;
};

}  // namespace headscope
