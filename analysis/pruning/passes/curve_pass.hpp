#pragma once

#include <vector>

#include "corpus_pass.hpp"
#include "pruning/passes/pruning_input.hpp"

namespace headscope {

/// The distinct masks of all orders and steps of the pruning curves.
struct CurveMasks {
  struct Point {
    std::size_t order, step;
  };
  std::vector<HeadMask> masks;
  std::vector<std::vector<Point>> users;  ///< the orders and steps of each mask
};

/// The third pass: takes the loss of all documents and prunes the ablated ones in the orders found
/// by the second.
class CurvePass : public CorpusPass {
 public:
  /// @param earlier  the sums of the passes before.
  CurvePass(const PruningInput& input, const Statistics& earlier);
  std::size_t n_mask() const { return curves_.masks.size(); }
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override;

 private:
  const PruningInput input_;
  const CurveMasks curves_;
};

}  // namespace headscope
