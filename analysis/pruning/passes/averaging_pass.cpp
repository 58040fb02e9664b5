#include "mean_z.hpp"
#include "pruning/passes/pruning_pass.hpp"

namespace headscope {

CorpusPass averaging_pass(const PruningInput& input) {
  return [input](const Piece& piece,
                 DocumentStatistics& statistics) -> std::unique_ptr<PieceObserver> {
    if (!input.samples(piece)) return nullptr;
    return std::make_unique<LayerFunction>(
        [&config = input.model.config, &statistics](const LayerView& view) {
          const Index d_z = config.d_z();
          Array& sum = statistics.sum("z", {config.n_layer, d_z});
          add_z(view, std::span(sum.values).subspan(view.layer * d_z, d_z));
          if (view.layer > 0) return;
          statistics.sum("z_count", {1})(0) += static_cast<double>(view.n_token - 1);
        });
  };
}

}  // namespace headscope
