#include "pruning/passes/pruning_pass.hpp"

namespace headscope {
namespace {

void add_mean_z(const LayerView& view, const ModelConfig& config, DocumentStatistics& statistics) {
  Array& sum = statistics.sum("z", {config.n_layer, config.d_z()});
  for (Index t = 1; t < view.n_token; ++t) {
    for (Index i = 0; i < config.d_z(); ++i) sum(view.layer, i) += view.z(i, t);
  }
  if (view.layer == 0) {
    statistics.sum("z_count", {1})(0) += static_cast<double>(view.n_token - 1);
  }
}

class AveragingPass : public CorpusPass {
 public:
  explicit AveragingPass(const PruningInput& input) : input_(input) {}
  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    if (!input_.samples(piece)) return nullptr;
    return std::make_unique<LayerFunction>([this, &statistics](const LayerView& view) {
      add_mean_z(view, input_.model.config, statistics);
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
