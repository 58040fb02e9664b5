#include "headscope/compute_context.hpp"

#include <algorithm>
#include <set>

#include "compute/causal_attention.hpp"
#include "compute/loss_difference.hpp"
#include "compute/product/weight_product.hpp"
#include "compute/rotary.hpp"
#include "compute/token_loss.hpp"

namespace headscope {

ComputeContext::ComputeContext(const Engines& engines)
    : engines_(engines), scratch_(std::make_shared<Scratch>()) {}

Products ComputeContext::products(Engine engine) const {
  scratch_->make_room();
  return {engine, *scratch_};
}

Products ComputeContext::passes() const {
  return products(engines_.passes);
}

Products ComputeContext::differences() const {
  return products(engines_.differences);
}

Products ComputeContext::logits() const {
  return products(engines_.logits);
}

Products ComputeContext::gradients() const {
  return products(engines_.gradients);
}

Products ComputeContext::float32() const {
  return products(Engine::float32);
}

std::uint64_t ComputeContext::bytes(const ModelConfig& config, Index n_token, int n_thread,
                                    const Engines& engines) {
  const Index widest = std::max({config.d_qkv(), config.d_in(), vocabulary_chunk});
  std::uint64_t bytes = turn_bytes(config, n_token);
  for (const Engine engine :
       std::set{engines.passes, engines.differences, engines.logits, engines.gradients}) {
    bytes += packed_bytes(config.d_model, widest, engine) +
             token_loss_product_bytes(config.d_model, n_token, n_thread, engine) +
             n_thread * WeightProduct::thread_bytes(engine);
  }
  // Gradients' attention also serves ablations.
  return bytes +
         n_thread * std::max(attention_thread_bytes(config.d_head(), n_token, engines.passes),
                             attention_thread_bytes(config.d_head(), n_token, engines.gradients));
}

}  // namespace headscope
