#include "run/run_memory.hpp"

#include <algorithm>
#include <numeric>

#include "commands.hpp"
#include "headscope/memory.hpp"
#include "headscope/number_text.hpp"
#include "headscope/parameters.hpp"

namespace headscope {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20, gibibyte = 1 << 30;
/// Libraries, and what OpenBLAS sets aside for each thread.
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
  for (const RegisteredAnalysis* analysis : analyses) {
    const MemoryPart part{analysis->info.name, analysis->memory(run)};
    if (!analysis->info.needs_corpus) {
      if (part.bytes > of_weights.bytes) of_weights = part;
      continue;
    }
    of_text.push_back(part);
    if (with_control && analysis->info.has_control) {
      of_control.push_back({"control " + part.name, part.bytes});
    }
  }
  if (!of_text.empty()) {
    parts.push_back({"forward pass", forward_bytes(run.config, run.n_token, true) +
                                         loss_bytes(run.config, run.n_token, run.n_thread)});
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

std::uint64_t parse_memory(const std::string& text) {
  const std::string_view units = "KMGT";
  const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
  const std::string digits = text.substr(0, text.size() - (text.empty() ? 0 : 1));
  const bool is_size =
      unit != units.npos && digits.size() <= 6 && digits.find_first_not_of('0') != digits.npos &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_size) {
    throw UsageError("--memory: expected a size such as 900M or 8G, got \"" + text + "\"");
  }
  return std::stoull(digits) << 10 * (unit + 1);
}

std::string memory_text(std::uint64_t bytes) {
  const auto in = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  return bytes < gibibyte ? decimals(in(mebibyte), bytes < 10 * mebibyte ? 1 : 0) + " MiB"
                          : decimals(in(gibibyte), 2) + " GiB";
}

}  // namespace headscope
