#include "pruning/direct_effects.hpp"

namespace headscope {

DirectEffects::ByToken DirectEffects::effects_of(const Matrix& written) const {
  const Index n = next_.directions.n_cols;
  return direct_effects(blas::ConstView(written).cols(0, n), next_.directions);
}

void DirectEffects::observe_layer(const LayerView& view) {
  if (view.layer == 0) embedding_ = effects_of(view.resid_pre);
  heads_.push_back(head_direct_effects(model_.layers[view.layer].W_O,
                                       blas::ConstView(view.z).cols(0, next_.directions.n_cols),
                                       next_.directions, model_.config.n_head));
  ByToken mlp = effects_of(view.resid_post);
  const ByToken before = effects_of(view.resid_mid);
  for (Index t = 0; t < mlp.size(); ++t) mlp[t] -= before[t];
  mlps_.push_back(std::move(mlp));
}

void DirectEffects::end(const Matrix& resid_final, DocumentStatistics& statistics) {
  const ModelConfig& config = model_.config;
  Vector b_O(config.d_model, arma::fill::zeros);
  for (const LayerWeights& layer : model_.layers) {
    if (!layer.b_O.is_empty()) b_O += layer.b_O;
  }
  const Index n = next_.directions.n_cols;
  const ByToken bias = effects_of(arma::repmat(b_O, 1, n)), total = effects_of(resid_final);
  const std::vector<double> scales = final_scales(model_, resid_final);

  Array& heads = statistics.row("direct_head", {config.n_layer, config.n_head});
  Array& parts = statistics.row("direct_part", {config.n_layer + n_direct_part});
  for (Index t = 0; t < n; ++t) {
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      for (Index head = 0; head < config.n_head; ++head) {
        heads(layer, head) += heads_[layer](head, t) / scales[t];
      }
      parts(layer) += mlps_[layer][t] / scales[t];
    }
    parts(config.n_layer + direct_embedding) += embedding_[t] / scales[t];
    parts(config.n_layer + direct_bias) += bias[t] / scales[t] + next_.constant[t];
    parts(config.n_layer + direct_total) += total[t] / scales[t] + next_.constant[t];
  }
}

}  // namespace headscope
