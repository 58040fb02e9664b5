#pragma once

#include <array>
#include <string_view>

#include "headscope/model.hpp"

namespace headscope {

/// Where the parameters of a GPT-2 model sit; the last is the sum of the others.
inline constexpr std::array<std::string_view, 11> parameter_components{
    "token_embedding", "position_embedding", "attention_q", "attention_k",
    "attention_v",     "attention_o",        "attention_bias", "mlp",
    "layer_norm",      "lm_head",            "total"};

using ParameterCounts = std::array<double, parameter_components.size()>;

/// Of the complete model that the config describes; a tied unembedding counts once, as the token
/// embedding.
ParameterCounts described_parameters(const ModelConfig& config);

/// Of the tensors that are there.
ParameterCounts held_parameters(const Model& model);

}  // namespace headscope
