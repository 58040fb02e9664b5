#pragma once

#include "headscope/model.hpp"
#include "headscope/parameters.hpp"

namespace headscope {

/// Parameters of the tensors that are there; fewer than `parameter_counts` in an attention-only
/// model.
ParameterCounts held_parameters(const Model& model);

}  // namespace headscope
