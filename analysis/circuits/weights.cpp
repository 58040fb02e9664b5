#include "circuits/weights.hpp"

namespace headscope {

const arma::mat& CircuitWeights::of(Projection projection) const {
  const std::array<const arma::mat*, all_projections.size()> matrices{&W_Q, &W_K, &W_V, &W_O};
  return *matrices[static_cast<std::size_t>(projection)];
}

arma::mat CircuitWeights::of(Projection projection, Index head) const {
  return of(projection).cols(head * d_head(), (head + 1) * d_head() - 1);
}

CircuitWeights circuit_weights(const Model& model, Index layer_index, bool fold_layer_norm) {
  const ModelConfig& config = model.config;
  const LayerWeights& layer = model.layers[layer_index];
  const Index d_head = config.d_head();
  const auto input = [&](Index (ModelConfig::*first_row)(Index) const) {
    arma::mat W(config.d_model, config.d_z());
    for (Index head = 0; head < config.n_head; ++head) {
      const Index row = (config.*first_row)(head);
      W.cols(head * d_head, (head + 1) * d_head - 1) =
          arma::conv_to<arma::mat>::from(layer.W_QKV.rows(row, row + d_head - 1)).t();
    }
    return W;
  };
  CircuitWeights weights{config.n_head, input(&ModelConfig::q_row), input(&ModelConfig::k_row),
                         input(&ModelConfig::v_row), arma::conv_to<arma::mat>::from(layer.W_O)};
  if (!fold_layer_norm) return weights;

  const arma::vec gain = arma::conv_to<arma::vec>::from(layer.ln_1_gain);
  for (arma::mat* W : {&weights.W_Q, &weights.W_K, &weights.W_V}) W->each_col() %= gain;
  if (config.norm == NormKind::rms_norm) return weights;
  for (arma::mat* W : {&weights.W_Q, &weights.W_K, &weights.W_V, &weights.W_O}) {
    const arma::rowvec mean = arma::mean(*W, 0);
    W->each_row() -= mean;
  }
  return weights;
}

}  // namespace headscope
