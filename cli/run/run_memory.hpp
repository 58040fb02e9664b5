#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis.hpp"
#include "headscope/inspect.hpp"

namespace headscope {

/// A part of what a run holds at most.
struct MemoryPart {
  std::string name;
  std::uint64_t bytes = 0;
};

/// The weights in memory of a model, which may hold those of attention alone, and of a model file.
std::uint64_t weight_bytes(const Model& model);
std::uint64_t weight_bytes(const ModelDescription& model);

/// All parts of a run, an estimate from its shape: the program, the weights, the forward passes,
/// and each analysis. Those of weights come after the documents, one at a time.
/// @param weights       bytes of the model's weights.
/// @param with_control  those that allow it are repeated on an untrained model.
std::vector<MemoryPart> run_memory(const RunShape& run, std::uint64_t weights,
                                   const std::vector<const RegisteredAnalysis*>& analyses,
                                   bool with_control);

std::uint64_t total_bytes(const std::vector<MemoryPart>& parts);

/// @throws UsageError naming the parts if together they are more than `limit` bytes.
void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit);

/// Reads `900M` or `8G` (powers of 1024); nothing from any other text.
std::optional<std::uint64_t> parse_memory(const std::string& text);
/// `8.25 GiB`, `310 MiB`.
std::string memory_text(std::uint64_t bytes);

}  // namespace headscope
