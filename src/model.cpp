#include "headscope/model.hpp"

#include "headscope/error.hpp"
#include "headscope/parameters.hpp"

namespace headscope {

bool Model::is_complete() const {
  return missing_tensors(*this).empty();
}

HeadWeights head_weights(const Model& model, HeadIndex head) {
  const ModelConfig& config = model.config;
  if (head.layer >= model.layers.size() || head.head >= config.n_head) {
    throw ShapeError("head " + head.text() + ": expected a head of a model with " +
                     std::to_string(model.layers.size()) + " layers of " +
                     std::to_string(config.n_head) + " heads");
  }
  const LayerWeights& layer = model.layers[head.layer];
  const Index begin = head.head * config.d_head();
  const auto rows = [&](Index part) {
    return arma::span(part * config.d_model + begin,
                      part * config.d_model + begin + config.d_head() - 1);
  };
  return {layer.W_QKV.rows(rows(0).a, rows(0).b),
          layer.W_QKV.rows(rows(1).a, rows(1).b),
          layer.W_QKV.rows(rows(2).a, rows(2).b),
          layer.b_QKV(rows(0)),
          layer.b_QKV(rows(1)),
          layer.b_QKV(rows(2)),
          layer.W_O.cols(rows(0).a, rows(0).b)};
}

}  // namespace headscope
