#include "mean_z.hpp"
#include "pruning/passes/pruning_pass.hpp"

namespace headscope {
namespace {

class AveragingPass : public CorpusPass {
 public:
  explicit AveragingPass(const PruningInput& input) : input_(input) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    if (!input_.samples(piece)) return nullptr;
    return std::make_unique<LayerFunction>([this, &statistics](const LayerView& view) {
      add_z(view, input_.model.config.n_layer, "z", statistics);
    });
  }

 private:
  const PruningInput input_;
};

}  // namespace

std::unique_ptr<CorpusPass> averaging_pass(const PruningInput& input) {
  return std::make_unique<AveragingPass>(input);
}

}  // namespace headscope
