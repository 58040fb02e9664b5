#pragma once

#include "corpus_pass.hpp"

namespace headscope {

/// The first pass: counts tokens, and sums the patterns of the first positions.
CorpusPass counting_pass(const Model& model, const ComputeContext& compute);

/// Bytes of its sums.
std::uint64_t counting_pass_bytes(const ModelConfig& config);

}  // namespace headscope
