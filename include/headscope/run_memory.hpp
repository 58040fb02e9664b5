#pragma once

#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "headscope/inspect.hpp"

namespace headscope {

/// A part of a run's peak memory.
struct MemoryPart {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Bytes of the weights that are present, of a loaded model or of a model file.
std::uint64_t weight_bytes(const Model& model);
std::uint64_t weight_bytes(const ModelDescription& model);

/// Estimated peak memory of a run, from its shape: the program, the weights, the forward passes,
/// and each analysis. Weights-only analyses run after the documents, one at a time.
/// @param weights       bytes of the model's weights.
/// @param with_control  analyses with a control also run on a control model.
std::vector<MemoryPart> run_memory(const RunShape& run, std::uint64_t weights,
                                   const std::vector<const RegisteredAnalysis*>& analyses,
                                   bool with_control);

std::uint64_t total_bytes(const std::vector<MemoryPart>& parts);

}  // namespace headscope
