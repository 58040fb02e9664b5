#include "parameters/count.hpp"

namespace headscope {

ParameterCounts held_parameters(const Model& model) {
  ParameterCounts counts;
  for (const TensorSpec& spec : gpt2_tensors()) {
    const Index n_layer = spec.per_layer() ? model.layers.size() : 1;
    for (Index layer = 0; layer < n_layer; ++layer) {
      const std::size_t part = tensor_values(model, spec, layer).size() / spec.components.size();
      for (const Component component : spec.components) {
        counts.by_component[static_cast<std::size_t>(component)] += part;
      }
    }
  }
  return counts;
}

}  // namespace headscope
