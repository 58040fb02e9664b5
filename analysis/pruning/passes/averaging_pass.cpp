#include "mean_z.hpp"
#include "pruning/passes/pruning_pass.hpp"

namespace headscope {
namespace {

void add_mean_z(const LayerView& view, const ModelConfig& config, DocumentStatistics& statistics) {
  const Index d_z = config.d_z();
  Array& sum = statistics.sum("z", {config.n_layer, d_z});
  add_z(view, std::span(sum.values).subspan(view.layer * d_z, d_z));
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
