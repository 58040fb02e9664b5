#pragma once

#include <vector>

#include "compute/weight_product.hpp"
#include "headscope/packed_model.hpp"

namespace headscope {

struct LayerProducts {
  WeightProduct W_QKV, W_O, W_in, W_out;
};

class PackedModel::Products {
 public:
  Products(const Model& model, Engine engine);

  Engine engine;
  std::vector<LayerProducts> layers;
  /// Logits of chunks of the vocabulary, vocabulary_chunk entries each but the last. The mean
  /// column, which moves all logits alike, is taken out of the weights; for Engine::float32, which
  /// keeps no copy, it is not.
  std::vector<WeightProduct> unembedding;
  Vector mean_unembedding;  ///< d_model

  static constexpr Index vocabulary_chunk = 1024;
};

}  // namespace headscope
