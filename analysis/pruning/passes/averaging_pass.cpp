#include "pruning/passes/averaging_pass.hpp"

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

}  // namespace

std::unique_ptr<PieceObserver> AveragingPass::begin_piece(const Piece& piece,
                                                          DocumentStatistics& statistics) {
  if (!input_.samples(piece)) return nullptr;
  return std::make_unique<LayerFunction>([this, &statistics](const LayerView& view) {
    add_mean_z(view, input_.model.config, statistics);
  });
}

std::vector<Vector> mean_z(const Statistics& earlier, const ModelConfig& config) {
  std::vector<Vector> mean(config.n_layer, Vector(config.d_z(), arma::fill::zeros));
  if (!earlier.has("z")) return mean;
  const Array sum = earlier.total("z");
  const double count = earlier.total("z_count")(0);
  for (Index l = 0; l < mean.size(); ++l) {
    for (Index i = 0; i < config.d_z(); ++i) mean[l](i) = static_cast<float>(sum(l, i) / count);
  }
  return mean;
}

}  // namespace headscope
