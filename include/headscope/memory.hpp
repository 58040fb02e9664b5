#pragma once

#include <cstdint>

#include "headscope/config.hpp"

/// What the compute core holds at most, in bytes: to say before a run whether it fits. Documents of
/// `n_token` tokens; `n_thread` threads.
namespace headscope {

/// The weights of a complete model.
std::uint64_t model_bytes(const ModelConfig& config);

/// One Forward that runs documents, its weights left out. @param with_patterns  some observer wants
/// them.
std::uint64_t forward_bytes(const ModelConfig& config, Index n_token, bool with_patterns);

/// What Forward::loss adds.
std::uint64_t loss_bytes(const ModelConfig& config, Index n_token, int n_thread);

/// One HeadAblation at work.
std::uint64_t ablation_bytes(const ModelConfig& config, Index n_token, int n_thread);

/// One HeadGradient at work.
std::uint64_t gradient_bytes(const ModelConfig& config, Index n_token, int n_thread);

}  // namespace headscope
