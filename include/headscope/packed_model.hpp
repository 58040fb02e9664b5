#pragma once

#include <memory>

#include "headscope/model.hpp"
#include "headscope/precision.hpp"

namespace headscope {

/// A model's weights made ready for an engine, once for all threads and analyses. The model must
/// outlive it.
class PackedModel {
 public:
  /// Packs when the products are first needed.
  explicit PackedModel(const Model& model, Engine engine = Engine::float32);
  ~PackedModel();
  PackedModel(const PackedModel&) = delete;
  PackedModel& operator=(const PackedModel&) = delete;

  const Model& model() const { return model_; }
  Engine engine() const { return engine_; }

  /// The products; of internal type.
  class Products;
  const Products& products() const;

 private:
  const Model& model_;
  Engine engine_;
  struct Lazy;
  std::unique_ptr<Lazy> lazy_;
};

}  // namespace headscope
