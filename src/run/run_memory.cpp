#include "headscope/run_memory.hpp"

#include <numeric>

#include "headscope/compute_context.hpp"
#include "headscope/parameters.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
/// Code and libraries, and OpenBLAS's buffer for each thread.
constexpr std::uint64_t program_bytes = 40 * mebibyte, thread_bytes = 8 * mebibyte;

}  // namespace

std::uint64_t weight_bytes(const Model& model) {
  return model.is_complete() ? model_bytes(model.config)
                             : held_parameters(model).total() * sizeof(float);
}

std::uint64_t weight_bytes(const ModelDescription& model) {
  return model.missing.empty() ? model_bytes(model.config) : model.n_stored * sizeof(float);
}

std::vector<MemoryPart> run_memory(const RunShape& run, std::uint64_t weights,
                                   const std::vector<const RegisteredAnalysis*>& analyses,
                                   bool with_control) {
  std::vector<MemoryPart> parts{
      {"program", program_bytes + static_cast<std::uint64_t>(run.n_thread) * thread_bytes},
      {"weights", weights}};
  MemoryPart of_weights;
  std::vector<MemoryPart> of_text, of_control;
  bool reads_corpus = false;
  for (const RegisteredAnalysis* analysis : analyses) {
    const MemoryPart part{analysis->info.name, analysis->memory(run)};
    reads_corpus |= analysis->info.needs_corpus();
    if (!analysis->info.needs_complete_model()) {
      if (part.bytes > of_weights.bytes) of_weights = part;
      continue;
    }
    of_text.push_back(part);
    if (with_control && analysis->info.control_pass >= 0) {
      of_control.push_back({"control " + part.name, part.bytes});
    }
  }
  if (reads_corpus) {
    parts.push_back(
        {"forward pass", Forward::bytes(run.config, run.n_token, true) +
                             Forward::loss_bytes(run.config, run.n_token, run.n_thread)});
  }
  if (!of_text.empty()) {
    parts.push_back({"products", ComputeContext::bytes(run.config, run.n_token, run.n_thread,
                                                       run.settings.engines)});
    // How often each contains each block of documents, for one result at a time.
    parts.push_back({"resamples", n_document_block * run.settings.n_bootstrap * sizeof(double)});
  }
  if (!of_control.empty()) parts.push_back({"control weights", model_bytes(run.config)});
  if (of_weights.bytes > 0) parts.push_back(of_weights);
  parts.insert(parts.end(), of_text.begin(), of_text.end());
  parts.insert(parts.end(), of_control.begin(), of_control.end());
  return parts;
}

std::uint64_t total_bytes(const std::vector<MemoryPart>& parts) {
  return std::accumulate(
      parts.begin(), parts.end(), std::uint64_t{0},
      [](std::uint64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

}  // namespace headscope
