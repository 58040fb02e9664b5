#include "circuits/weights.hpp"

namespace headscope {

const arma::mat& CircuitWeights::of(Projection projection) const {
  switch (projection) {
    case Projection::q:
      return W_Q;
    case Projection::k:
      return W_K;
    case Projection::v:
      return W_V;
    case Projection::o:
      return W_O;
  }
  return W_O;
}

arma::mat CircuitWeights::of(Projection projection, Index head) const {
  return of(projection).cols(head * d_head(), (head + 1) * d_head() - 1);
}

CircuitWeights circuit_weights(const LayerWeights& layer, Index n_head, bool fold_layer_norm) {
  const Index d = layer.W_QKV.n_cols;
  const auto input = [&](Index part) {
    return arma::mat(
        arma::conv_to<arma::mat>::from(layer.W_QKV.rows(part * d, (part + 1) * d - 1)).t());
  };
  CircuitWeights weights{n_head, input(0), input(1), input(2),
                         arma::conv_to<arma::mat>::from(layer.W_O)};
  if (!fold_layer_norm) return weights;

  const arma::vec gain = arma::conv_to<arma::vec>::from(layer.ln_1_gain);
  for (arma::mat* W : {&weights.W_Q, &weights.W_K, &weights.W_V}) W->each_col() %= gain;
  for (arma::mat* W : {&weights.W_Q, &weights.W_K, &weights.W_V, &weights.W_O}) {
    const arma::rowvec mean = arma::mean(*W, 0);
    W->each_row() -= mean;
  }
  return weights;
}

}  // namespace headscope
