#pragma once

#include "corpus_pass.hpp"
#include "pruning/passes/pruning_input.hpp"

namespace headscope {

/// The first pass: sums z of the sample over the positions after 0, for its mean.
class AveragingPass : public CorpusPass {
 public:
  explicit AveragingPass(const PruningInput& input) : input_(input) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

 private:
  const PruningInput input_;
};

/// The mean of z over the positions that the first pass summed.
/// @param earlier  the sums of that pass.
/// @return per layer, d_z; zero where no position was summed.
std::vector<Vector> mean_z(const Statistics& earlier, const ModelConfig& config);

}  // namespace headscope
