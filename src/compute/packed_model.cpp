#include "headscope/packed_model.hpp"

#include <algorithm>
#include <mutex>

#include "compute/model_products.hpp"

namespace headscope {

struct PackedModel::Lazy {
  std::once_flag once;
  std::unique_ptr<const Products> products;
};

PackedModel::PackedModel(const Model& model, Engine engine)
    : model_(model), engine_(engine), lazy_(std::make_unique<Lazy>()) {}

PackedModel::~PackedModel() = default;

const PackedModel::Products& PackedModel::products() const {
  std::call_once(lazy_->once,
                 [this] { lazy_->products = std::make_unique<Products>(model_, engine_); });
  return *lazy_->products;
}

PackedModel::Products::Products(const Model& model, Engine engine_given)
    : engine(engine_given), mean_unembedding(arma::mean(model.unembedding(), 1)) {
  const auto product = [&](const Matrix& W) {
    return WeightProduct(W, blas::Transpose::no, engine);
  };
  for (const LayerWeights& layer : model.layers) {
    layers.push_back(
        {product(layer.W_QKV), product(layer.W_O), product(layer.W_in), product(layer.W_out)});
  }
  const Matrix& W_U = model.unembedding();
  for (Index first = 0; first < W_U.n_cols; first += vocabulary_chunk) {
    const Index count = std::min(vocabulary_chunk, W_U.n_cols - first);
    if (engine == Engine::float32) {
      unembedding.emplace_back(blas::ConstView(W_U).cols(first, count), blas::Transpose::yes,
                               engine);
      continue;
    }
    Matrix centred = W_U.cols(first, first + count - 1);
    centred.each_col() -= mean_unembedding;
    unembedding.emplace_back(centred, blas::Transpose::yes, engine);
  }
}

}  // namespace headscope
