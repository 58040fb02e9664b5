#pragma once

#include <string>

#include "compute/activations.hpp"
#include "compute/product/weight_product.hpp"
#include "headscope/forward.hpp"

namespace headscope::test {

/// Products of an engine, with memory that all tests share.
inline Products products(Engine engine = Engine::float32) {
  static Scratch scratch;
  scratch.make_room();
  return {engine, scratch};
}

/// An engine's name as a part of a test's name.
inline std::string label_of(Engine engine) {
  std::string name = engine_name(engine);
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
}

/// What the forward pass of a batch leaves in each layer.
inline Activations activations_of(const Model& model, const SequenceBatch& batch,
                                  const ComputeContext& context = {}) {
  Activations activations(model.config);
  Forward(model, context).run(batch, {&activations});
  return activations;
}

}  // namespace headscope::test
