#pragma once

#include <cstdint>

#include "headscope/config.hpp"
#include "headscope/precision.hpp"

/// Upper bounds on the compute core's memory in bytes, to check before a run that it fits, for
/// documents of `n_token` tokens and `n_thread` threads.
namespace headscope {

/// The weights of a complete model.
std::uint64_t model_bytes(const ModelConfig& config);

/// One Forward that runs documents, without the weights. @param with_patterns if an observer wants
/// them.
std::uint64_t forward_bytes(const ModelConfig& config, Index n_token, bool with_patterns);

/// What Forward::loss adds.
std::uint64_t loss_bytes(const ModelConfig& config, Index n_token, int n_thread);

/// Work space of the products of forward and backward passes over `n_token` columns; that of
/// attention's backward pass is in gradient_bytes.
std::uint64_t pass_product_bytes(const ModelConfig& config, Index n_token, int n_thread,
                                 Engine engine);

/// One running HeadAblation, the weights that it makes ready included.
std::uint64_t ablation_bytes(const ModelConfig& config, Index n_token, int n_thread,
                             Engine engine = Engine::float32, const VocabularySample& sample = {});

/// One HeadGradient that runs on the activations of a HeadAblation. @param engine  of the gradient.
std::uint64_t gradient_bytes(const ModelConfig& config, Index n_token, int n_thread, Engine engine);

}  // namespace headscope
