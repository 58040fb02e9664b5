#include "run/run_memory.hpp"

#include <algorithm>
#include <numeric>

#include "headscope/compute_context.hpp"
#include "headscope/number_text.hpp"
#include "headscope/parameters.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20, gibibyte = 1 << 30;
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
                                                       run.settings.engines())});
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

void check_memory(const std::vector<MemoryPart>& parts, std::uint64_t limit) {
  const std::uint64_t total = total_bytes(parts);
  if (total <= limit) return;
  std::string list;
  for (const MemoryPart& part : parts) {
    list += (list.empty() ? "" : ", ") + part.name + " " + memory_text(part.bytes);
  }
  throw UsageError("--memory: expected at least " + memory_text(total) + " for this run, got " +
                   memory_text(limit) + " (" + list + ")");
}

std::optional<std::uint64_t> parse_memory(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t unit = std::string_view("KMGT").find(text.back());
  const auto count = parse_whole_number(text.substr(0, text.size() - 1), 999'999);
  if (unit == std::string_view::npos || count.value_or(0) == 0) return std::nullopt;
  return *count << 10 * (unit + 1);
}

std::string memory_text(std::uint64_t bytes) {
  const auto in = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  return bytes < gibibyte ? decimals(in(mebibyte), bytes < 10 * mebibyte ? 1 : 0) + " MiB"
                          : decimals(in(gibibyte), 2) + " GiB";
}

}  // namespace headscope
